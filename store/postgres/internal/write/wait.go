package write

import (
	"context"
	"math"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/gating"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// park makes a run one that waits.
func (r *Run) park(w *store.Wait) {
	if w == nil {
		return // refused
	}
	r.wait = &wait{seen: w.Seen, until: pg.OptMicros(w.Until), kinds: int32(w.Kinds), waitsFor: pg.OptText(string(w.For))}
	r.RunAt = pg.Never
	if r.wait.until != nil {
		r.RunAt = *r.wait.until
	}
	if w.Count > 0 {
		enough := int64(math.MaxInt64)
		if w.Count <= enough-max(w.Seen, 0) {
			enough = w.Seen + w.Count
		}
		r.wait.enough = &enough
	}
	if w.Held {
		r.Traits |= pg.TraitHeld
	}
	if w.Failures {
		r.Traits |= pg.TraitFailures
	}
	if w.HandedOver {
		r.handOver(w)
	}
}

// handOver makes a run that parks one that no message wakes.
func (r *Run) handOver(w *store.Wait) {
	r.wait.kinds, r.wait.enough = 0, nil
	r.Traits = r.Traits&^pg.TraitFailures | pg.TraitHandsOver
	if w.Compensates {
		r.Traits |= pg.TraitUndoes
	}
}

// waitArgs are the parameters of the statement conclude that only parking needs: NULL if no run
// parks.
func waitArgs(runs []*Run) []any {
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

// lockBodies is the statement that locks the bodies of jobs, and of the parents of children that
// answer.
func lockBodies(jobs, children []pgtype.UUID) pg.Statement {
	return pg.Statement{Name: "lock_bodies", Args: []any{jobs, children}}
}

// all is more than the number of messages that any job has.
const all = math.MaxInt32

func (n *WakeCandidates) add(job store.ID, number int64) {
	n.jobs, n.numbers = append(n.jobs, pg.UUIDOf(job)), append(n.numbers, number)
}

// AddRuns adds the runs that park, and the parents of those that answer.
func (n *WakeCandidates) AddRuns(runs []*Run) {
	for _, r := range runs {
		if r.wait != nil {
			n.add(r.Lease.Job, all)
			n.parked.Add(r.Lease.Job, r.outcome.Wait)
		}
	}
	n.addAnswers(runs)
}

// addAnswers adds the parents that runs answer: once each, however many answers it gets, if the
// outcomes name it.
func (n *WakeCandidates) addAnswers(runs []*Run) {
	places := map[store.ID]int{}
	for _, r := range runs {
		place, known := places[r.Parent]
		switch {
		case !r.Answers:
		case r.Parent == (store.ID{}):
			n.Children = append(n.Children, pg.UUIDOf(r.Lease.Job))
		case known:
			n.numbers[place]++
		default:
			places[r.Parent] = len(n.jobs)
			n.add(r.Parent, 1)
		}
	}
}

// IsEmpty reports whether there are none.
func (n *WakeCandidates) IsEmpty() bool { return len(n.jobs)+len(n.Children) == 0 }

// Wake is the statement that wakes those for whom the right news have come.
func (w Woken) Wake(n WakeCandidates, now int64) pg.Statement {
	return pg.Statement{Name: "wake", Args: []any{n.jobs, n.numbers, n.Children, now}, Each: func(r pg.Row) error {
		var id pgtype.UUID
		var job WokenJob
		err := r.Scan(&id, &job.Lane, &job.seq)
		w[id.Bytes] = job
		return err
	}}
}

// waking are the statements that wake all those for whom something has come.
func (w Woken) waking(n WakeCandidates, now int64) []pg.Statement {
	if n.IsEmpty() {
		return nil
	}
	return append([]pg.Statement{w.Wake(n, now)}, n.parked.Waking(now, w.note)...)
}

// note notes a job that an update woke.
func (w Woken) note(job store.ID, lane int32) { w[job] = WokenJob{Lane: lane} }

// settleRuns tells runs that have parked and found the message that they wanted: unless it is the
// answer of a child that comes later in the batch, and has woken them.
func (w Woken) settleRuns(runs []*Run) {
	for _, r := range runs {
		if job, ok := w[r.Lease.Job]; ok && r.wait != nil && !r.known && r.Final == store.Waiting {
			later := slices.ContainsFunc(runs, func(c *Run) bool { return c.told == told{r.Lease.Job, job.seq} && c.Place > r.Place })
			if !later {
				r.Final = store.Available
			}
		}
	}
}

// wakes returns a wake-up for each queue that jobs were woken in.
func (s *Store) wakes(ctx context.Context, w Woken) ([]store.Wake, error) {
	if len(w) == 0 {
		return nil, nil
	}
	moved := local.NewMoved()
	for id, job := range w {
		moved.Lanes[id] = job.Lane
	}
	return s.QueuesOf(ctx, moved)
}

// AfterCommit returns what nodes are to be told of jobs that became available by something else
// than a batch. If turns of ordering keys may have been freed or asked for, it hands them on and
// returns what is to be told of these, too. Claims of this process look at the places at once.
func (s *Store) AfterCommit(ctx context.Context, w Woken, turns bool) []store.Wake {
	wakes, err := s.wakes(ctx, w)
	if err != nil {
		wakes = []store.Wake{{Kind: store.WakeAll}} // they are available, whatever their queues are
	}
	for _, wake := range wakes {
		s.HearWake(wake)
	}
	if turns {
		for _, wake := range s.turnsAfterCommit(ctx) {
			wakes = store.AddWake(wakes, wake)
		}
	}
	if s.Gates.HasAny() { // runs may have ended
		for _, wake := range s.orLater(gating.HandOn(ctx, s.Store)) {
			wakes = store.AddWake(wakes, wake)
		}
	}
	return wakes
}

// DueAt is the wake-up for a job that is due at a time.
func DueAt(micros int64) store.Wake {
	return store.Wake{Kind: store.WakeDeferred, Due: pg.TimeOf(micros)}
}
