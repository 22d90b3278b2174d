package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

const (
	// firstLook and lastLook bound the interval at which the ends of jobs that run elsewhere are asked for; it doubles while nothing ends.
	firstLook = 10 * time.Millisecond
	lastLook  = 500 * time.Millisecond
	// lookLimit is how many jobs one query asks for.
	lookLimit = 1000
)

// waiters are those who wait for jobs to end. Jobs that end in this process are told at once; for the others one query
// asks for all that are waited for, at an interval that grows while nothing happens. Nobody waiting costs nothing, nor does
// waiting for what runs in this process or was enqueued a moment ago.
type waiters struct {
	store store.Store
	guard *guard
	// elsewhere returns those of the jobs that do not run in this process.
	elsewhere func([]store.ID) []store.ID
	fatal     func(error) // is told of errors that do not pass

	mu      sync.Mutex
	byJob   map[store.ID][]chan answer
	looking bool
	nudge   chan struct{}
	slow    atomic.Bool // the interval is longer than the first: a nudge makes a difference
	ctx     context.Context
	cancel  context.CancelFunc
	loops   sync.WaitGroup
}

type answer struct {
	ended store.Ended
	err   error
}

func newWaiters(st store.Store, g *guard, elsewhere func([]store.ID) []store.ID, fatal func(error)) *waiters {
	w := &waiters{
		store: st, guard: g, elsewhere: elsewhere, fatal: fatal, byJob: map[store.ID][]chan answer{}, nudge: make(chan struct{}, 1),
	}
	w.ctx, w.cancel = context.WithCancel(context.Background()) //nolint:forbidigo // the root of the waiters' own life
	return w
}

// wait returns how the job ended, once it has.
func (w *waiters) wait(ctx context.Context, id store.ID) (store.Ended, error) {
	ch := make(chan answer, 1)
	w.mu.Lock()
	w.byJob[id] = append(w.byJob[id], ch)
	if !w.looking && w.ctx.Err() == nil {
		w.looking = true
		w.loops.Go(func() { w.guard.supervise(w.ctx, "waits for jobs", func(context.Context) { w.loop() }) })
	}
	w.mu.Unlock()
	defer w.forget(id, ch)
	w.hurry()
	select {
	case a := <-ch:
		return a.ended, a.err
	case <-ctx.Done():
		return store.Ended{}, ctx.Err()
	case <-w.ctx.Done():
		return store.Ended{}, store.ErrClosed
	}
}

// deliver tells of an outcome that was committed in this process.
func (w *waiters) deliver(o *store.Outcome) {
	w.mu.Lock()
	chans := w.byJob[o.Lease.Job]
	delete(w.byJob, o.Lease.Job)
	w.mu.Unlock()
	if len(chans) == 0 {
		return
	}
	ended := store.Ended{ID: o.Lease.Job, State: o.Final, Reason: o.Reason, Error: o.Error, Result: o.Result}
	if o.Final != o.State {
		// The store turned the outcome into another one; it knows the words.
		w.mu.Lock()
		w.byJob[o.Lease.Job] = append(w.byJob[o.Lease.Job], chans...)
		w.mu.Unlock()
		w.hurry()
		return
	}
	for _, ch := range chans {
		ch <- answer{ended: ended}
	}
}

// look asks soon for a job that somebody says has ended.
func (w *waiters) look(id store.ID) {
	w.mu.Lock()
	waited := len(w.byJob[id]) > 0
	w.mu.Unlock()
	if waited {
		w.hurry()
	}
}

func (w *waiters) hurry() {
	if !w.slow.Load() {
		return
	}
	select {
	case w.nudge <- struct{}{}:
	default:
	}
}

func (w *waiters) forget(id store.ID, ch chan answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	chans := w.byJob[id]
	for i := range chans {
		if chans[i] == ch {
			chans = append(chans[:i:i], chans[i+1:]...)
			break
		}
	}
	if len(chans) == 0 {
		delete(w.byJob, id)
	} else {
		w.byJob[id] = chans
	}
}

func (w *waiters) loop() {
	interval := firstLook
	w.slow.Store(false)
	timer := time.NewTimer(0) // the job may have ended long ago
	defer timer.Stop()
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-w.nudge:
			// Look soon, but not for each of a thousand who begin to wait.
			if interval > firstLook {
				interval = firstLook
				w.slow.Store(false)
				timer.Reset(interval)
			}
			continue
		case <-timer.C:
		}
		ids, ok := w.waited()
		if !ok {
			return
		}
		if w.ask(w.elsewhere(ids)) > 0 {
			interval = firstLook
		} else {
			interval = min(2*interval, lastLook)
		}
		w.slow.Store(interval > firstLook)
		timer.Reset(interval)
	}
}

// waited lists the jobs waited for, but those that were made a moment ago. When there are none at all the loop ends; ok is false.
func (w *waiters) waited() (ids []store.ID, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.byJob) == 0 {
		w.looking = false
		return nil, false
	}
	ids = make([]store.ID, 0, len(w.byJob))
	now := w.store.Now()
	for id := range w.byJob {
		if age := now.Sub(madeAt(id)); age < 0 || age >= firstLook { // the clocks may differ
			ids = append(ids, id)
		}
	}
	return ids, true
}

// madeAt is when an id was made, or the zero time if it does not tell.
func madeAt(id store.ID) time.Time {
	if id.Version() != 7 {
		return time.Time{}
	}
	return time.Unix(id.Time().UnixTime())
}

// ask looks the jobs up, and returns how many had ended.
func (w *waiters) ask(ids []store.ID) int {
	found := 0
	for len(ids) > 0 {
		some := ids[:min(len(ids), lookLimit)]
		ids = ids[len(some):]
		ctx, cancel := context.WithTimeout(w.ctx, storeTimeout)
		ended, err := w.store.Ended(ctx, some)
		cancel()
		if err != nil {
			if w.ctx.Err() == nil && !store.IsRetryable(err) {
				w.fail(some, err)
			}
			return found
		}
		for _, e := range ended {
			switch {
			case e.State == 0:
				w.answer(e.ID, answer{err: fmt.Errorf("%w: job %s", store.ErrNotFound, e.ID)})
			case e.State.Finished():
				found++
				w.answer(e.ID, answer{ended: e})
			}
		}
	}
	return found
}

// fail ends the waits for jobs that nothing can be learned of any more, whoever waits: the file is gone, say.
func (w *waiters) fail(ids []store.ID, err error) {
	w.fatal(err)
	for _, id := range ids {
		w.answer(id, answer{err: err})
	}
}

func (w *waiters) answer(id store.ID, a answer) {
	w.mu.Lock()
	chans := w.byJob[id]
	delete(w.byJob, id)
	w.mu.Unlock()
	for _, ch := range chans {
		ch <- a
	}
}

// close ends every wait with ErrClosed.
func (w *waiters) close() {
	w.mu.Lock()
	w.cancel()
	w.mu.Unlock()
	w.loops.Wait()
}
