package gating

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// atOnce is how many notes of gates are looked at in one statement.
const atOnce = 500

const (
	// sweepEvery and sweepRarely are the shortest and the longest time between two looks at all
	// gates at which jobs wait.
	sweepEvery  = store.SweepAfter
	sweepRarely = 5 * time.Second
	// sweepShare bounds what they take of the time: one part in so many.
	sweepShare = 20
	// aheadMost is how far ahead the time of the last sweep can be without the clock having been
	// set back.
	aheadMost = time.Minute
)

// Look is what a promotion has seen.
type Look struct {
	Checks  bool      // gates are to be looked at
	Gated   bool      // jobs wait at gates
	SweepAt time.Time // when all of them are to be looked at; zero: no job waits
	KeyAt   time.Time // when one may go on by the rate of its key; zero: none waits for that
}

// Sweeps is when this process looks at all gates at which jobs wait.
type Sweeps struct {
	mu    sync.Mutex
	next  time.Time
	every time.Duration
}

// isDue reports whether it is time for that, and when it is the next time.
func (w *Sweeps) isDue(now time.Time) (bool, time.Time) {
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
func (w *Sweeps) took(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.every = min(max(sweepEvery, sweepShare*d), sweepRarely)
}

// Promote lets jobs go on that wait at gates which are free: those that notes tell of, those at
// which the rate of the key lets one go, and now and then all.
func (w *Sweeps) Promote(ctx context.Context, s *local.Store, look *Look, limit int, moved local.Moved) error {
	sweep := false
	if look.Gated {
		if sweep, look.SweepAt = w.isDue(s.Now()); sweep {
			var err error
			if sweep, err = takeTurn(ctx, s); err != nil {
				return err
			}
		}
	}
	rated := !look.KeyAt.IsZero()
	if !sweep && !look.Checks && (!rated || look.KeyAt.After(s.Now())) {
		return nil
	}
	began := time.Now()
	statements := []pg.Statement{handOn(s, min(max(limit, 1), atOnce), sweep, moved)}
	if rated {
		look.KeyAt = time.Time{}
		statements = append(statements, pg.Statement{Name: "key_rates_next", Each: func(r pg.Row) error {
			var at int64
			err := r.Scan(&at)
			look.KeyAt = pg.TimeOf(at)
			return err
		}})
	}
	err := s.Send(ctx, statements...)
	if sweep {
		w.took(time.Since(began))
	}
	return err
}

// takeTurn reports whether no other process has looked at all gates just now.
func takeTurn(ctx context.Context, s *local.Store) (ours bool, err error) {
	now := s.Micros()
	args := []any{now, now - sweepEvery.Microseconds(), now + aheadMost.Microseconds()}
	return ours, s.Send(ctx, pg.Statement{Name: "gates_turn", Args: args, Each: func(pg.Row) error { ours = true; return nil }})
}

func handOn(s *local.Store, limit int, sweep bool, moved local.Moved) pg.Statement {
	return pg.Statement{Name: "hand_on_gates", Args: []any{int32(limit), sweep, s.Injected()}, Each: func(r pg.Row) error {
		var looked int64
		var id pgtype.UUID
		var lane *int32
		var runAt *int64
		err := r.Scan(&looked, &id, &lane, &runAt)
		if lane != nil {
			moved.Add(id, *lane, runAt)
		}
		return err
	}}
}

// HandOn lets jobs go on as soon as a run of their gate has ended, and returns the wakes for it.
func HandOn(ctx context.Context, s *local.Store) ([]store.Wake, error) {
	var moved local.Moved
	err := pg.RetryOnConflict(ctx, func() error {
		moved = local.NewMoved()
		return s.Send(ctx, handOn(s, atOnce, false, moved))
	})
	if err != nil {
		return nil, err
	}
	wakes, err := s.QueuesOf(ctx, moved)
	s.Hint(moved.Places)
	return wakes, err
}

// Freed is the statement that notes at which of these gates, of which runs have completed, jobs
// wait; nil if there are none. What the statement conclude ends it notes itself. waits is called if
// jobs do.
func Freed(gates []int64, waits func()) []pg.Statement {
	var list []int64
	seen := map[int64]bool{0: true}
	for _, id := range gates {
		if !seen[id] {
			seen[id] = true
			list = append(list, id)
		}
	}
	if list == nil {
		return nil
	}
	return []pg.Statement{{Name: "gates_freed", Args: []any{list}, Each: func(pg.Row) error { waits(); return nil }}}
}
