package postgres

import (
	"context"
	"math"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
)

// park makes a run one that waits.
func (r *run) park(w *store.Wait) {
	if w == nil {
		return // refused
	}
	r.wait = &wait{seen: w.Seen, until: optMicros(w.Until), kinds: int32(w.Kinds), waitsFor: optText(string(w.For))}
	r.runAt = never
	if r.wait.until != nil {
		r.runAt = *r.wait.until
	}
	if w.Count > 0 {
		enough := int64(math.MaxInt64)
		if w.Count <= enough-max(w.Seen, 0) {
			enough = w.Seen + w.Count
		}
		r.wait.enough = &enough
	}
	if w.Held {
		r.traits |= traitHeld
	}
	if w.Failures {
		r.traits |= traitFailures
	}
}

// waitArgs are the parameters of the statement conclude that only parking needs: NULL if nobody parks.
func waitArgs(runs []*run) []any {
	var (
		seen          []int64
		kinds         []int32
		enough, until []*int64
		waitsFor      []*string
	)
	for i, r := range runs {
		if r.wait == nil {
			continue
		}
		if seen == nil {
			n := len(runs)
			seen, kinds, enough, until, waitsFor = make([]int64, n), make([]int32, n), make([]*int64, n), make([]*int64, n), make([]*string, n)
		}
		seen[i], kinds[i], enough[i], until[i], waitsFor[i] = r.wait.seen, r.wait.kinds, r.wait.enough, r.wait.until, r.wait.waitsFor
	}
	return []any{seen, kinds, enough, until, waitsFor}
}

// lockBodies is the statement that locks the bodies of jobs, and of the parents of children that answer.
func lockBodies(jobs, children []pgtype.UUID) statement {
	return statement{name: "lock_bodies", args: []any{jobs, children}}
}

// all is more than the number of messages that any job has.
const all = math.MaxInt32

func (n *wakeCandidates) add(job store.ID, number int64) {
	n.jobs, n.numbers = append(n.jobs, uuidOf(job)), append(n.numbers, number)
}

// addRuns adds the runs that park, and the parents of those that answer.
func (n *wakeCandidates) addRuns(runs []*run) {
	for _, r := range runs {
		if r.wait != nil {
			n.add(r.lease.Job, all)
		}
	}
	n.addAnswers(runs)
}

// addAnswers adds the parents that runs answer: once each, however many answers it gets, if the
// outcomes name it.
func (n *wakeCandidates) addAnswers(runs []*run) {
	places := map[store.ID]int{}
	for _, r := range runs {
		place, known := places[r.parent]
		switch {
		case !r.answers:
		case r.parent == (store.ID{}):
			n.children = append(n.children, uuidOf(r.lease.Job))
		case known:
			n.numbers[place]++
		default:
			places[r.parent] = len(n.jobs)
			n.add(r.parent, 1)
		}
	}
}

func (n *wakeCandidates) isEmpty() bool { return len(n.jobs)+len(n.children) == 0 }

// wake is the statement that wakes those for whom the right news have come.
func (w woken) wake(n wakeCandidates, now int64) statement {
	return statement{name: "wake", args: []any{n.jobs, n.numbers, n.children, now}, each: func(r row) error {
		var id pgtype.UUID
		var job wokenJob
		err := r.Scan(&id, &job.lane, &job.seq)
		w[id.Bytes] = job
		return err
	}}
}

// settleRuns tells runs that have parked and found the message that they wanted: unless it is the answer of a child that comes later in the
// batch, and has woken them.
func (w woken) settleRuns(runs []*run) {
	for _, r := range runs {
		if job, ok := w[r.lease.Job]; ok && r.wait != nil && !r.known && r.final == store.Waiting {
			later := slices.ContainsFunc(runs, func(c *run) bool { return c.told == told{r.lease.Job, job.seq} && c.place > r.place })
			if !later {
				r.final = store.Available
			}
		}
	}
}

// wakes returns a wake-up for each queue that jobs were woken in.
func (s *writeStore) wakes(ctx context.Context, w woken) ([]store.Wake, error) {
	if len(w) == 0 {
		return nil, nil
	}
	moved := newMoved()
	for id, job := range w {
		moved.lanes[id] = job.lane
	}
	return s.queuesOf(ctx, moved)
}

// tellWoken tells all nodes, this one too, of jobs that became available by something else than a
// batch. It is a hint, and may be lost.
func (s *writeStore) tellWoken(ctx context.Context, w woken) {
	wakes, _ := s.wakes(ctx, w) // what is not told of is found by the next poll
	for _, wake := range wakes {
		s.hearWake(wake)
	}
	s.notifier.tell("", wakes)
}

// tellDue tells all nodes, this one too, when a job is due.
func (s *writeStore) tellDue(at int64) {
	s.notifier.tell("", []store.Wake{{Kind: store.WakeDeferred, Due: timeOf(at)}})
}

func (w *waitRow) columns() []any {
	return []any{&w.state, &w.held, &w.since, &w.until, &w.reason, &w.words, &w.waitFor}
}

func (w *waitRow) info() *store.WaitInfo {
	if w.state == nil || store.State(*w.state) != store.Waiting {
		return nil
	}
	info := &store.WaitInfo{Since: optTime(w.since), Until: optTime(w.until), Held: w.held != nil && *w.held}
	if info.Held {
		info.Reason, info.Error = store.Reason(textOf(w.reason)), textOf(w.words)
	}
	if w.waitFor != nil {
		info.For = []byte(*w.waitFor)
	}
	return info
}
