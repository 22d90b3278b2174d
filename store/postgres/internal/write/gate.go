package write

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// gatesAtOnce is how many notes of gates are looked at in one statement.
const gatesAtOnce = 500

const (
	// sweepEvery is the shortest time between two looks at all gates at which jobs wait.
	sweepEvery = store.SweepAfter
	// sweepShare bounds what they take of the time: one part in so many.
	sweepShare = 20
	// aheadMost is how far ahead the time of the last sweep can be without the clock having been
	// set back.
	aheadMost = time.Minute
)

// sweeping is when this process looks next at all gates at which jobs wait.
type sweeping struct {
	mu    sync.Mutex
	next  time.Time
	every time.Duration
}

// isDue reports whether it is time for that, and when it is the next time.
func (w *sweeping) isDue(now time.Time) (bool, time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.every = max(w.every, sweepEvery)
	if now.Before(w.next) && w.next.Sub(now) <= w.every {
		return false, w.next
	}
	w.next = now.Add(w.every)
	return true, w.next
}

// took notes what a sweep took.
func (w *sweeping) took(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.every = max(sweepEvery, sweepShare*d)
}

// promoteGates lets jobs go on that wait at gates which are free: those that notes tell of, and now
// and then all.
func (s *Store) promoteGates(ctx context.Context, look *due, limit int, moved movedJobs) error {
	sweep := false
	if look.gated {
		if sweep, look.sweepAt = s.sweeping.isDue(s.Now()); sweep {
			var err error
			if sweep, err = s.takeTurn(ctx); err != nil {
				return err
			}
		}
	}
	if !sweep && !look.checks {
		return nil
	}
	began := time.Now()
	err := s.Send(ctx, handingOnGates(min(max(limit, 1), gatesAtOnce), sweep, moved))
	if sweep {
		s.sweeping.took(time.Since(began))
	}
	return err
}

// takeTurn reports whether no other process has looked at all gates just now.
func (s *Store) takeTurn(ctx context.Context) (ours bool, err error) {
	now := s.Micros()
	args := []any{now, now - sweepEvery.Microseconds(), now + aheadMost.Microseconds()}
	return ours, s.Send(ctx, pg.Statement{Name: "gates_turn", Args: args, Each: func(pg.Row) error { ours = true; return nil }})
}

func handingOnGates(limit int, sweep bool, moved movedJobs) pg.Statement {
	return pg.Statement{Name: "hand_on_gates", Args: []any{int32(limit), sweep}, Each: func(r pg.Row) error {
		var looked int64
		var id pgtype.UUID
		var lane *int32
		var runAt *int64
		err := r.Scan(&looked, &id, &lane, &runAt)
		if lane != nil {
			moved.add(id, *lane, runAt)
		}
		return err
	}}
}

// handOnGates lets jobs go on as soon as a run of their gate has ended, and returns the wakes for
// it.
func (s *Store) handOnGates(ctx context.Context) ([]store.Wake, error) {
	var moved movedJobs
	err := pg.RetryOnConflict(ctx, func() error {
		moved = newMoved()
		return s.Send(ctx, handingOnGates(gatesAtOnce, false, moved))
	})
	if err != nil {
		return nil, err
	}
	wakes, err := s.queuesOf(ctx, moved)
	s.Hint(moved.places)
	return wakes, err
}

// noteFreed is the statement that notes at which gates a slot is free, if runs that have completed
// have one. What conclude ends it notes itself.
func noteFreed(completed []*Run) []pg.Statement {
	var list []int64
	seen := map[int64]bool{}
	for _, r := range completed {
		if id := r.outcome.Gate; id != 0 && !seen[id] {
			seen[id] = true
			list = append(list, id)
		}
	}
	if list == nil {
		return nil
	}
	return []pg.Statement{{Name: "gates_freed", Args: []any{list}, Each: func(pg.Row) error {
		completed[0].freed = true
		return nil
	}}}
}

// freesGate reports whether jobs may wait for the end of the run at a gate.
func (r *Run) freesGate() bool {
	return r.freed || r.outcome != nil && r.outcome.Gate != 0 && !r.completes()
}

// touchesGates reports whether jobs that wait at gates may go on.
func (b *batch) touchesGates() bool {
	for _, r := range b.runs {
		if r.freesGate() {
			return true
		}
	}
	return false
}
