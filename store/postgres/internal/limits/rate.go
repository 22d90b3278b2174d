package limits

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/internal/gcra"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// rate is a limit as far as its rate goes, whose row is locked.
type rate struct {
	gcra.State
	limit  int64 // 0: there is none
	has    bool  // it has a rate
	perKey bool  // it is a limit per key
	now    int64
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
	err = pg.Together(ctx, t, s.locking(&r, namespace, name)...)
	return r, err
}

// locking are the statements of lockRate. The time is asked by a statement of its own, which is
// executed when the limit is locked.
func (s *Store) locking(r *rate, namespace, name string) []pg.Statement {
	*r = rate{State: gcra.State{Burst: 1}}
	read := func(row pg.Row) error {
		var version int64
		var period *int64
		err := row.Scan(&r.limit, &version, &period, &r.Burst, &r.Tat, &r.Seen, &r.Move, &r.Drained, &r.perKey)
		if r.has = period != nil; r.has {
			r.Period = *period
		}
		return err
	}
	return []pg.Statement{
		{Name: "rate_lock", Args: []any{pg.CleanText(namespace), pg.CleanText(name)}, Each: read},
		{Name: "rate_now", Args: []any{s.Injected()}, Each: func(row pg.Row) error { return row.Scan(&r.now) }},
	}
}

// lockNamed is lockRate of a limit that has to have a rate.
func (s *Store) lockNamed(ctx context.Context, t pg.Runner, namespace, name string) (rate, error) {
	r, err := s.lockRate(ctx, t, namespace, name)
	if err != nil {
		return r, err
	}
	return r, r.isNamed(namespace, name)
}

// isNamed returns an error if there is no such limit, or it has no rate.
func (r *rate) isNamed(namespace, name string) error {
	switch {
	case r.limit == 0:
		return store.NoLimit(namespace, name)
	case !r.has:
		return gcra.NoRate(namespace, name)
	}
	return nil
}

func (r *rate) put(ctx context.Context, t pg.Runner) error { return r.putting().On(ctx, t) }

// putting is the statement that writes the rate.
func (r *rate) putting() pg.Statement {
	var period *int64
	if r.has {
		period = &r.Period
	}
	return pg.Statement{Name: "rate_put", Args: []any{r.limit, period, r.Burst, r.Tat, r.Seen, r.Move, r.Drained}}
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
func (s *Store) Drain(ctx context.Context, namespace, name string, until time.Time, actor string) error {
	if err := store.CheckDrain(name, until); err != nil {
		return err
	}
	return pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			r, err := s.lockNamed(ctx, t, namespace, name)
			if err != nil {
				return err
			}
			was := r.Drained
			r.Drain(r.now, until.UnixMicro())
			if err := r.put(ctx, t); err != nil || r.Drained == was {
				return err
			}
			return local.Record(ctx, t, r.now, audited.LimitDrained(namespace, name, until, actor))
		})
	})
}

// ResumeLimit is that of store.Rates, without the class of its error.
func (s *Store) ResumeLimit(ctx context.Context, params store.ResumeLimitParams) error {
	return pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			r, err := s.lockNamed(ctx, t, params.Namespace, params.Name)
			if err != nil || !r.Resume(r.now) {
				return err
			}
			if err := r.put(ctx, t); err != nil {
				return err
			}
			return local.Record(ctx, t, r.now, audited.LimitResumed(&params))
		})
	})
}

// Writes is what writes the appends of reservations.
type Writes struct {
	LockBody   func(job store.ID, level *string) pg.Statement
	AppendHeld func(context.Context, pg.Session, *store.Append, ...pg.Statement) error
}

// Reserve is that of store.Rates, without the class of its error. The body is locked first: a
// caller's transaction may hold it, and then no other call waits for the limit. It is four round
// trips: the transaction begins and has its locks, it looks whether the lease lives, it writes, and
// it commits.
func (s *Store) Reserve(ctx context.Context, v *store.Reservation, w Writes) error {
	return pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			var level string
			var r rate
			locks := append([]pg.Statement{w.LockBody(v.Append.Lease.Job, &level)}, s.locking(&r, v.Namespace, v.Name)...)
			if err := t.Together(ctx, locks...); err != nil {
				return err
			}
			if err := r.isNamed(v.Namespace, v.Name); err != nil {
				return err
			}
			changed, err := r.Reserve(r.now, v)
			if err != nil {
				return err
			}
			var put []pg.Statement
			if changed {
				put = append(put, r.putting())
			}
			v.Append.Repeat = false
			v.Say(v)
			if err := w.AppendHeld(ctx, t, v.Append, put...); err != nil {
				return err
			}
			return v.Append.Err // and nothing has happened
		})
	})
}
