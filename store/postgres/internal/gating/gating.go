package gating

import (
	"context"
	"math"
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
	// gates at which jobs wait: twice as long after each that has found nothing.
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
	Asked   int64     // how often it was asked that all gates are looked at
	GoesAt  time.Time // when the first of the queues that rest goes on; zero: none rests
	SweepAt time.Time // when all of them are to be looked at; zero: no job waits
	KeyAt   time.Time // when one may go on by the rate of its key; zero: none waits for that
}

// Sweeps is when this process looks at all gates at which jobs wait, and how far that has come. It
// does so a portion at a time, in the order of the gates: now and then, and at once where that was
// asked for, as a limit was changed or a queue goes on. Nothing of it is stored but that it was
// asked for, as each process begins with one; so if one dies another one finds what is left.
type Sweeps struct {
	mu    sync.Mutex
	next  time.Time // when the next one begins
	every time.Duration

	passing bool  // one is under way
	after   int64 // it has looked at the gates up to this one
	hadAny  bool  // and one was free
	took    time.Duration

	begun bool  // one was
	asked int64 // as it was when the last one began
	goes  time.Time
}

// firstGate is before all gates.
const firstGate = math.MinInt64

// begin reports whether a sweep goes on or begins now, and behind which gate.
func (w *Sweeps) begin(ctx context.Context, s *local.Store, look *Look) (sweep bool, after int64, err error) {
	w.mu.Lock()
	passing, at, due, now := w.passing, w.after, false, s.Now()
	asked := !w.begun || look.Asked != w.asked || !w.goes.IsZero() && !now.Before(w.goes)
	if w.goes = look.GoesAt; !passing && !asked {
		due = w.isDue(now, s.Gates.TookBehind())
	}
	w.mu.Unlock()
	if passing {
		return true, at, nil
	}
	if due {
		if due, err = takeTurn(ctx, s); err != nil {
			return false, 0, err
		}
	}
	if !asked && !due {
		return false, 0, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.passing, w.after, w.hadAny, w.took = true, firstGate, false, 0
	w.begun, w.asked = true, look.Asked
	return true, firstGate, nil
}

// isDue reports whether it is time for a sweep. behind: claims have put jobs behind their gates.
func (w *Sweeps) isDue(now time.Time, behind bool) bool {
	if w.every = max(w.every, sweepEvery); behind && w.every > sweepEvery {
		w.every = sweepEvery
		if soon := now.Add(sweepEvery); soon.Before(w.next) {
			w.next = soon
		}
	}
	if now.Before(w.next) && w.next.Sub(now) <= max(w.every, sweepRarely) {
		return false
	}
	w.next = now.Add(w.every)
	return true
}

// went notes what a part of a sweep behind a gate has come to.
func (w *Sweeps) went(after int64, a *handed, now time.Time, took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.passing || w.after != after {
		return
	}
	w.took += took
	w.hadAny = w.hadAny || a.any
	if a.reached != nil {
		w.after = *a.reached
		return
	}
	w.passing = false
	if w.every = min(2*w.every, sweepRarely); w.hadAny {
		w.every = sweepEvery
	}
	w.every = min(max(w.every, sweepEvery, sweepShare*w.took), sweepRarely)
	w.next = now.Add(w.every)
}

// goesOn reports whether a sweep is under way, and when the next one begins if not.
func (w *Sweeps) goesOn() (bool, time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.goes.IsZero() && w.goes.Before(w.next) {
		return w.passing, w.goes
	}
	return w.passing, w.next
}

// Promote lets jobs go on that wait at gates which are free: those that notes tell of, those at
// which the rate of the key lets one go, and now and then all. It reports whether there is more.
func (w *Sweeps) Promote(ctx context.Context, s *local.Store, look *Look, limit int, moved local.Moved) (more bool, err error) {
	sweep, after := false, int64(0)
	if look.Gated {
		if sweep, after, err = w.begin(ctx, s, look); err != nil {
			return false, err
		}
	}
	rated := !look.KeyAt.IsZero()
	var a handed
	if sweep || look.Checks || rated && !look.KeyAt.After(s.Now()) {
		began := time.Now()
		statements := []pg.Statement{handOn(s, min(max(limit, 1), atOnce), sweep, after, moved, &a)}
		if rated {
			look.KeyAt = time.Time{}
			statements = append(statements, pg.Statement{Name: "key_rates_next", Each: func(r pg.Row) error {
				var at int64
				err := r.Scan(&at)
				look.KeyAt = pg.TimeOf(at)
				return err
			}})
		}
		if err := s.Send(ctx, statements...); err != nil {
			return false, err
		}
		if sweep {
			w.went(after, &a, s.Now(), time.Since(began))
		}
	}
	if !look.Gated {
		return a.cut, nil
	}
	passing, next := w.goesOn()
	if !passing {
		look.SweepAt = next
	}
	return a.cut || passing, nil
}

// takeTurn reports whether no other process has looked at all gates just now.
func takeTurn(ctx context.Context, s *local.Store) (ours bool, err error) {
	now := s.Micros()
	args := []any{now, now - sweepEvery.Microseconds(), now + aheadMost.Microseconds()}
	return ours, s.Send(ctx, pg.Statement{Name: "gates_turn", Args: args, Each: func(pg.Row) error { ours = true; return nil }})
}

// handed is what has come of letting jobs go on.
type handed struct {
	any     bool
	cut     bool   // there was too much for one statement
	reached *int64 // the gate up to which a sweep has come; nil: the last one
}

func handOn(s *local.Store, limit int, sweep bool, after int64, moved local.Moved, a *handed) pg.Statement {
	args := []any{int32(limit), sweep, after, s.Micros(), s.Injected()}
	return pg.Statement{Name: "hand_on_gates", Args: args, Each: func(r pg.Row) error {
		var id pgtype.UUID
		var lane *int32
		var runAt *int64
		err := r.Scan(&a.cut, &a.reached, &id, &lane, &runAt)
		if lane != nil {
			a.any = true
			moved.Add(id, *lane, runAt)
		}
		return err
	}}
}

// HandOn lets jobs go on as soon as a run of their gate has ended, and returns the wakes for it.
func HandOn(ctx context.Context, s *local.Store) ([]store.Wake, error) {
	var moved local.Moved
	var a handed
	err := pg.RetryOnConflict(ctx, func() error {
		moved, a = local.NewMoved(), handed{}
		return s.Send(ctx, handOn(s, atOnce, false, 0, moved, &a))
	})
	if err != nil {
		return nil, err
	}
	wakes, err := s.QueuesOf(ctx, moved)
	s.Hint(moved.Places)
	if a.cut { // promotion goes on with it
		wakes = append(wakes, store.Wake{Kind: store.WakeDeferred, Due: s.Now()})
	}
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
