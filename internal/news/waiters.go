package news

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

const (
	// firstLook is how old a job is when it is first polled: most jobs enqueued a moment ago end in
	// this process before.
	firstLook = 10 * time.Millisecond
	// lastLook bounds the poll interval for jobs of other processes where no wake-ups arrive. It
	// starts at firstLook and doubles while nothing ends.
	lastLook = 500 * time.Millisecond
	// Where wake-ups arrive, a part of the jobs is polled every lookEvery, and all of them within
	// lookRounds of that, because wake-ups may be lost.
	lookEvery  = time.Second
	lookRounds = 4
	// lookLimit is how many jobs one query asks for that may well have ended, because it returns
	// their results. tickLimit is the limit of periodic polls, which find little.
	lookLimit = 1000
	tickLimit = 50_000
	// lookRest is the least pause after a poll of all jobs, in multiples of its duration.
	lookRest = 20
)

// waiters are the callers that wait for jobs to end. They are notified at once of jobs that end in
// this process. Other jobs are polled once at the beginning and then when a wake-up names them;
// this process subscribes to those. A slow periodic poll makes up for lost wake-ups.
type waiters struct {
	store     store.Store
	guard     *supervise.Guard
	listening *listening
	wishes    *wishes
	// elsewhere returns those jobs of a namespace ("" for any) that do not run in this process.
	elsewhere func(namespace string, jobs []store.ID) []store.ID
	fatal     func(error) // called with permanent errors

	mu      sync.Mutex
	targets map[target]*waited
	begun   uint64         // number of waits begun so far
	spaces  map[string]int // number of targets in each namespace
	soon    []target       // to be polled, unless this process runs them
	told    []target       // to be polled: they are said to have ended
	young   []target       // to be polled when they are old enough, oldest first
	all     bool           // poll all targets
	looking bool
	nudge   chan struct{}
	ctx     context.Context
	cancel  context.CancelFunc
	loops   sync.WaitGroup
}

// target is a job that is waited for in a namespace, "" for any. A job of another namespace does
// not exist for it.
type target struct {
	namespace string
	job       store.ID
}

// waited is the state of a target.
type waited struct {
	since  time.Time
	young  bool // enqueued a moment ago
	wished bool // other processes know of it
	waits  []wait
}

// wait is one caller that waits for a target.
type wait struct {
	ch    chan answer
	begun uint64 // its sequence number
}

type answer struct {
	ended store.Ended
	err   error // about the job ended.ID
}

func newWaiters(
	st store.Store, g *supervise.Guard, l *listening, w *wishes, elsewhere func(string, []store.ID) []store.ID, fatal func(error),
) *waiters {
	ws := &waiters{
		store: st, guard: g, listening: l, wishes: w, elsewhere: elsewhere, fatal: fatal,
		targets: map[target]*waited{}, spaces: map[string]int{}, nudge: make(chan struct{}, 1),
	}
	ws.ctx, ws.cancel = context.WithCancel(context.Background()) //nolint:forbidigo // the root of the waiters' own life
	return ws
}

// wait calls each for every job as it ends or is found not to exist, until it has been called for
// all or returns false. For an id that occurs twice it is called twice.
func (w *waiters) wait(ctx context.Context, namespace string, ids []store.ID, each func(store.Ended, error) bool) error {
	ch := make(chan answer, len(ids))
	w.begin(namespace, ids, ch)
	defer w.forget(namespace, ids, ch)
	for range ids {
		select {
		case a := <-ch:
			if !each(a.ended, a.err) {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-w.ctx.Done():
			return store.ErrClosed
		}
	}
	return nil
}

func (w *waiters) begin(namespace string, ids []store.ID, ch chan answer) {
	now := time.Now() //nolint:forbidigo // a duration, not the time of day
	today := w.store.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	asleep := len(w.soon) == 0 && len(w.young) == 0
	for _, id := range ids {
		t := target{namespace, id}
		of := w.targets[t]
		if of == nil {
			of = &waited{since: now}
			age := today.Sub(madeAt(id))
			of.young = age >= 0 && age < firstLook // the clocks may differ
			w.targets[t] = of
			w.spaces[namespace]++
		}
		if of.young {
			w.young = append(w.young, t)
		} else {
			w.soon = append(w.soon, t)
		}
		w.begun++
		of.waits = append(of.waits, wait{ch, w.begun})
	}
	if !w.looking && w.ctx.Err() == nil {
		w.looking = true
		w.loops.Go(func() { w.guard.Supervise(w.ctx, "waits for jobs", w.loop) })
	}
	if asleep || len(w.soon) > 0 { // else the loop wakes for an older young target first
		supervise.Signal(w.nudge)
	}
}

func (w *waiters) begunSoFar() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.begun
}

// deliver notifies the waiters of an outcome that was committed in this process after seen waits
// had begun. Waits begun later may mean a later end, as in answer.
func (w *waiters) deliver(o *store.Outcome, seen uint64) {
	if o.Final != o.State || w.hasLater(o.Lease.Job, seen) {
		w.look(o.Lease.Job) // the store changed the outcome, and only it has the text; or it knows better
		return
	}
	w.mu.Lock()
	told := w.of(o.Lease.Job, func(namespace string) bool { return namespace == "" || namespace == o.Namespace })
	w.mu.Unlock()
	for _, of := range told {
		tell(of.waits, answer{ended: store.Ended{
			ID: o.Lease.Job, State: o.Final, Reason: o.Reason, Error: o.Error, Result: o.Result,
			Codec: o.Codec,
		}})
	}
}

// hasLater reports whether a wait for the job has begun after so many.
func (w *waiters) hasLater(job store.ID, seen uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for namespace := range w.spaces {
		if of := w.targets[target{namespace, job}]; of != nil && of.waits[len(of.waits)-1].begun > seen {
			return true
		}
	}
	return false
}

// of ends the waits for a job in the namespaces that is accepts, and returns them. In other
// namespaces the job is polled, and found not to exist. w.mu is held.
func (w *waiters) of(job store.ID, is func(namespace string) bool) (ended []*waited) {
	for namespace := range w.spaces {
		switch t := (target{namespace, job}); {
		case w.targets[t] == nil:
		case is(namespace):
			ended = append(ended, w.remove(t))
		default:
			w.told = append(w.told, t)
			supervise.Signal(w.nudge)
		}
	}
	return ended
}

// look polls those of the jobs that have waiters at once; without ids, all targets.
func (w *waiters) look(ids ...store.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := len(w.told)
	for namespace := range w.spaces {
		for _, id := range ids {
			if t := (target{namespace, id}); w.targets[t] != nil {
				w.told = append(w.told, t)
			}
		}
	}
	if len(ids) == 0 && len(w.targets) > 0 {
		w.all = true
	}
	if w.all || len(w.told) > before {
		supervise.Signal(w.nudge)
	}
}

func (w *waiters) forget(namespace string, ids []store.ID, ch chan answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		t := target{namespace, id}
		of := w.targets[t]
		if of == nil {
			continue
		}
		of.waits = slices.DeleteFunc(of.waits, func(o wait) bool { return o.ch == ch })
		if len(of.waits) == 0 {
			w.remove(t)
		}
	}
}

// remove removes a target. w.mu is held.
func (w *waiters) remove(t target) *waited {
	of := w.targets[t]
	if of == nil {
		return nil
	}
	if of.wished {
		w.wishes.drop(t.job)
	}
	delete(w.targets, t)
	w.spaces[t.namespace]--
	if w.spaces[t.namespace] == 0 {
		delete(w.spaces, t.namespace)
	}
	return of
}

// answer notifies the waiters of a target of its end, which was read when seen waits had begun.
// Waits begun later may mean a later end, of a job that was retried: for them the job is polled
// again.
func (w *waiters) answer(t target, a answer, seen uint64) {
	w.mu.Lock()
	var waits []wait
	if of := w.targets[t]; of != nil {
		later := slices.IndexFunc(of.waits, func(o wait) bool { return o.begun > seen })
		if later < 0 {
			waits = w.remove(t).waits
		} else {
			waits, of.waits = slices.Clone(of.waits[:later]), of.waits[later:]
			w.told = append(w.told, t)
			supervise.Signal(w.nudge)
		}
	}
	w.mu.Unlock()
	a.ended.ID = t.job
	tell(waits, a)
}

func tell(waits []wait, a answer) {
	for _, o := range waits {
		o.ch <- a // has room for one answer for each wait
	}
}

// loop polls until there are no waiters.
func (w *waiters) loop(ctx context.Context) {
	defer w.listening.use()()
	r := rounds{interval: firstLook, every: w.listening.every(lookEvery)}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.nudge:
		case <-timer.C:
		}
		now := time.Now() //nolint:forbidigo // how long it is until the next look
		r.heard, r.looked = w.store.Traits().Wakeups, now
		look, waiting := w.due(now, &r)
		if !waiting {
			return
		}
		w.wish(w.notHere(look.unwished))
		found, err := w.ask(look)
		switch {
		case err != nil:
			// Poll all of them once the database may be back.
			r.rested, r.away = now.Add(lastLook), now.Add(lastLook)
			w.lookAgain(look.told)
		case look.every:
			r.rest(now, time.Since(now)) //nolint:forbidigo // how long it took
		}
		r.next(now, found > 0)
		timer.Reset(max(0, time.Until(w.soonest(&r)))) //nolint:forbidigo // as above
	}
}

// rounds schedules the polls that no wake-up asked for.
type rounds struct {
	heard    bool          // wake-ups arrive
	every    time.Duration // poll interval with wake-ups
	interval time.Duration // poll interval without wake-ups
	tick     time.Time     // when the next poll is due
	round    byte          // the next part of the targets
	rested   time.Time     // no poll of all targets before
	away     time.Time     // no poll of told targets before, because the database did not answer
	looked   time.Time     // time of the last poll
}

// isDue reports whether a periodic poll is due, and of which jobs.
func (r *rounds) isDue(now time.Time) (due bool, of func(store.ID) bool) {
	if now.Before(r.tick) {
		return false, nil
	}
	if !r.heard {
		return true, func(store.ID) bool { return true }
	}
	round := r.round
	r.round = (r.round + 1) % lookRounds
	return true, func(id store.ID) bool { return id[len(id)-1]%lookRounds == round }
}

// next schedules the next periodic poll after a poll at the given time.
func (r *rounds) next(now time.Time, found bool) {
	switch {
	case r.heard:
		r.interval = firstLook
		if !now.Before(r.tick) {
			r.tick = now.Add(r.every)
		}
	case found:
		r.interval = firstLook
		r.tick = now.Add(r.interval)
	case !now.Before(r.tick):
		r.interval = min(2*r.interval, lastLook)
		r.tick = now.Add(r.interval)
	}
}

// rest delays the next poll of all targets, after one that took long.
func (r *rounds) rest(now time.Time, took time.Duration) {
	r.rested = now.Add(max(firstLook, lookRest*took))
}

// look is one round of polls.
type look struct {
	ids      []target // polled unless this process runs them
	told     []target // polled wherever they run: they are said to have ended
	limit    int      // of one query
	every    bool     // ids are all targets
	unwished []target // other processes do not know of them yet
}

// due returns what to poll now. waiting is false if there are no waiters, and the loop ends.
func (w *waiters) due(now time.Time, r *rounds) (l look, waiting bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.targets) == 0 {
		w.looking, w.soon, w.told, w.young, w.all = false, nil, nil, nil, false
		return l, false
	}
	l.ids, w.soon = w.soon, nil
	if !now.Before(r.away) {
		l.told, w.told = w.waitedFor(w.told), nil
	}
	for t := range w.grown(now) {
		l.ids = append(l.ids, t)
	}
	l.limit = lookLimit
	l.every = w.all && !now.Before(r.rested)
	if l.every {
		w.all = false
		l.ids = w.add(l.ids, func(store.ID) bool { return true })
	}
	if due, of := r.isDue(now); due {
		if len(l.ids) == 0 && r.heard {
			l.limit = tickLimit
		}
		l.ids = w.add(l.ids, of)
		for t, waited := range w.targets {
			if !waited.wished && !waited.young {
				l.unwished = append(l.unwished, t)
			}
		}
	}
	l.ids = w.waitedFor(l.ids)
	return l, true
}

// waitedFor returns those targets that still have waiters, sorted and without duplicates. It
// changes the slice. w.mu is held.
func (w *waiters) waitedFor(all []target) []target {
	slices.SortFunc(all, compareTargets)
	return slices.DeleteFunc(slices.Compact(all), func(t target) bool { return w.targets[t] == nil })
}

// compareTargets orders targets by namespace first.
func compareTargets(a, b target) int {
	return cmp.Or(cmp.Compare(a.namespace, b.namespace), slices.Compare(a.job[:], b.job[:]))
}

// add adds the targets for whose jobs of is true, except the young ones. w.mu is held.
func (w *waiters) add(list []target, of func(store.ID) bool) []target {
	for t, waited := range w.targets {
		if !waited.young && of(t.job) {
			list = append(list, t)
		}
	}
	return list
}

// grown takes the targets from young that are old enough. w.mu is held.
func (w *waiters) grown(now time.Time) iter.Seq[target] {
	return func(yield func(target) bool) {
		for len(w.young) > 0 {
			t := w.young[0]
			of := w.targets[t]
			if of != nil && now.Sub(of.since) < firstLook {
				return
			}
			w.young = w.young[1:]
			if of != nil {
				of.young = false
				if !yield(t) {
					return
				}
			}
		}
	}
}

// soonest is when the loop must poll next.
func (w *waiters) soonest(r *rounds) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := r.tick
	for len(w.young) > 0 && w.targets[w.young[0]] == nil {
		w.young = w.young[1:] // it has ended
	}
	if len(w.young) > 0 {
		// Together with those that came soon after: a thousand callers are not a thousand polls.
		grown := w.targets[w.young[0]].since.Add(firstLook)
		at = earlier(at, later(grown, r.looked.Add(firstLook/2)))
	}
	if w.all {
		at = earlier(at, r.rested)
	}
	if len(w.told) > 0 {
		at = earlier(at, r.away)
	}
	return at
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// madeAt is the time in an id of version 7, or the zero time.
func madeAt(id store.ID) time.Time {
	if id.Version() != 7 {
		return time.Time{}
	}
	return time.Unix(id.Time().UnixTime())
}

// ask polls the targets that do not run here or were said to have ended, and returns how many have
// ended. The error is transient.
func (w *waiters) ask(l look) (found int, err error) {
	all := w.notHere(l.ids)
	if len(l.told) > 0 {
		all = append(all, l.told...)
		slices.SortFunc(all, compareTargets)
		all = slices.Compact(all)
	}
	w.wish(all)
	for len(all) > 0 {
		n := ofOneNamespace(all, l.limit)
		ended, err := w.askFor(all[:n])
		if err != nil {
			return found, err
		}
		found += ended
		all = all[n:]
	}
	return found, nil
}

// ofOneNamespace is how many targets at the start of all share a namespace, up to a limit.
func ofOneNamespace(all []target, limit int) int {
	n := 1
	for n < min(len(all), limit) && all[n].namespace == all[0].namespace {
		n++
	}
	return n
}

func jobsOf(targets []target) []store.ID {
	ids := make([]store.ID, len(targets))
	for i, t := range targets {
		ids[i] = t.job
	}
	return ids
}

// askFor polls targets of one namespace.
func (w *waiters) askFor(some []target) (found int, err error) {
	ctx, cancel := context.WithTimeout(w.ctx, store.CallTimeout)
	defer cancel()
	w.mu.Lock()
	seen := w.begun
	w.mu.Unlock()
	namespace := some[0].namespace
	ended, err := w.store.Ended(ctx, namespace, jobsOf(some))
	if err != nil {
		if w.ctx.Err() == nil && !store.IsRetryable(err) {
			w.fail(some, err)
			return 0, nil
		}
		return 0, err
	}
	for _, e := range ended {
		t := target{namespace, e.ID}
		switch {
		case e.State == 0:
			w.answer(t, answer{err: fmt.Errorf("%w: job %s", store.ErrNotFound, e.ID)}, seen)
		case e.State.Finished():
			found++
			w.answer(t, answer{ended: e}, seen)
		}
	}
	return found, nil
}

// notHere returns those of the sorted targets that this process does not run.
func (w *waiters) notHere(all []target) (left []target) {
	for len(all) > 0 {
		n := ofOneNamespace(all, len(all))
		for _, id := range w.elsewhere(all[0].namespace, jobsOf(all[:n])) {
			left = append(left, target{all[0].namespace, id})
		}
		all = all[n:]
	}
	return left
}

// lookAgain schedules a poll of told and of all targets, once the database may be back.
func (w *waiters) lookAgain(told []target) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, told...)
	w.all = w.all || len(w.targets) > 0
	supervise.Signal(w.nudge)
}

// wish subscribes to the jobs of targets.
func (w *waiters) wish(all []target) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range all {
		if of := w.targets[t]; of != nil && !of.wished {
			of.wished = true
			w.wishes.add(t.job)
		}
	}
}

// fail ends the waits for jobs after a permanent error, for example when the database file is gone.
func (w *waiters) fail(all []target, err error) {
	w.fatal(err)
	for _, t := range all {
		w.answer(t, answer{err: err}, math.MaxUint64)
	}
}

// close ends every wait with ErrClosed.
func (w *waiters) close() {
	w.mu.Lock()
	w.cancel()
	w.mu.Unlock()
	w.loops.Wait()
}
