package limits

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/internal/gcra"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// rate is a limit as far as its rate goes, whose row is locked.
type rate struct {
	gcra.State
	limit int64 // 0: there is none
	has   bool  // it has a rate
	now   int64
}

// periodOf is the column of a limit's period.
func periodOf(l *store.Limit, r *gcra.State) *int64 {
	if l.Together() == nil {
		return nil
	}
	return &r.Period
}

// lockRate locks the limit with a name, if there is one, and reads its rate and then the time.
func (s *Store) lockRate(ctx context.Context, t pg.Runner, namespace, name string) (r rate, err error) {
	r.Burst = 1
	err = t.Run(ctx, "rate_lock", func(row pg.Row) error {
		var version int64
		var period *int64
		err := row.Scan(&r.limit, &version, &period, &r.Burst, &r.Tat, &r.Seen, &r.Move, &r.Drained)
		if r.has = period != nil; r.has {
			r.Period = *period
		}
		return err
	}, pg.CleanText(namespace), pg.CleanText(name))
	if err != nil {
		return r, err
	}
	return r, t.Run(ctx, "rate_now", func(row pg.Row) error { return row.Scan(&r.now) }, s.Injected())
}

// lockNamed is lockRate of a limit that has to have a rate.
func (s *Store) lockNamed(ctx context.Context, t pg.Runner, namespace, name string) (rate, error) {
	r, err := s.lockRate(ctx, t, namespace, name)
	switch {
	case err != nil:
		return r, err
	case r.limit == 0:
		return r, store.NoLimit(namespace, name)
	case !r.has:
		return r, gcra.NoRate(namespace, name)
	}
	return r, nil
}

func (r *rate) put(ctx context.Context, t pg.Runner) error {
	var period *int64
	if r.has {
		period = &r.Period
	}
	return t.Run(ctx, "rate_put", nil, r.limit, period, r.Burst, r.Tat, r.Seen, r.Move, r.Drained)
}

// TakePermits is that of store.Rates, without the class of its error.
func (s *Store) TakePermits(ctx context.Context, asks []store.PermitAsk) (taken []store.Permits, err error) {
	if err := store.CheckPermits(asks); err != nil || len(asks) == 0 {
		return nil, err
	}
	n := len(asks)
	limits, versions, wants := make([]int64, n), make([]int64, n), make([]int64, n)
	aheads, backs, moves := make([]int64, n), make([]int64, n), make([]int64, n)
	for i, a := range asks {
		limits[i], versions[i], wants[i] = a.Limit, a.Version, int64(a.Want)
		aheads[i], backs[i], moves[i] = a.Ahead.Microseconds(), int64(a.Back), a.Move
	}
	take := pg.Statement{
		Name: "permits", Args: []any{limits, versions, wants, aheads, backs, moves, s.Injected()},
		Each: func(r pg.Row) error {
			var p store.Permits
			var n, base, period, burst, next int64
			err := r.Scan(&p.Limit, &n, &base, &period, &burst, &next, &p.Move)
			p.Count, p.Burst = int(n), int(burst)
			p.Base, p.Period, p.Next = gcra.Micros(base), gcra.Micros(period), gcra.Micros(next)
			taken = append(taken, p)
			return err
		},
	}
	err = pg.RetryOnConflict(ctx, func() error {
		taken = nil
		return s.Send(ctx, pg.Statement{Name: "permits_lock", Args: []any{limits}}, take)
	})
	if err != nil {
		return nil, err
	}
	return taken, nil
}

// Drain is that of store.Rates, without the class of its error.
func (s *Store) Drain(ctx context.Context, namespace, name string, until time.Time) error {
	if err := store.CheckDrain(name, until); err != nil {
		return err
	}
	return pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			r, err := s.lockNamed(ctx, t, namespace, name)
			if err != nil {
				return err
			}
			r.Drain(r.now, until.UnixMicro())
			return r.put(ctx, t)
		})
	})
}

// Reserve is that of store.Rates, without the class of its error; write is AppendTx. The body is
// locked first: a caller's transaction may hold it, and then no other call waits for the limit.
func (s *Store) Reserve(ctx context.Context, v *store.Reservation, write func(context.Context, pg.Runner, *store.Append) error) error {
	return pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			err := t.Run(ctx, "lock_body_of_step", func(r pg.Row) error {
				var silence, level string
				return r.Scan(&silence, &level)
			}, pg.UUIDOf(v.Append.Lease.Job), pg.SilenceInTx)
			if err != nil {
				return err
			}
			r, err := s.lockNamed(ctx, t, v.Namespace, v.Name)
			if err != nil {
				return err
			}
			changed, err := r.Reserve(r.now, v)
			if err != nil {
				return err
			}
			if changed {
				if err := r.put(ctx, t); err != nil {
					return err
				}
			}
			v.Append.Repeat = false
			v.Say(v)
			if err := write(ctx, t, v.Append); err != nil {
				return err
			}
			return v.Append.Err // and nothing has happened
		})
	})
}
