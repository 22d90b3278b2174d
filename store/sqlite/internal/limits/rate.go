package limits

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/gcra"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// rate is a limit as far as its rate goes.
type rate struct {
	gcra.State
	limit, version int64 // 0: there is none
	has            bool  // it has a rate
}

// readRate reads one row of a statement with rate_columns.
func readRate(s db.Stmt) (r rate, err error) {
	return r, db.Each(s, func() error {
		r.limit, r.version = s.ReadInt(), s.ReadInt()
		if r.has = !s.ReadNull(); r.has {
			r.Period = s.ReadInt()
		}
		r.Burst, r.Tat, r.Seen, r.Move, r.Drained = s.ReadInt(), s.ReadInt(), s.ReadInt(), s.ReadInt(), s.ReadInt()
		return nil
	})
}

func rateOf(t *core.Tx, limit int64) (rate, error) {
	s := t.Stmt("rate")
	s.BindInt(limit)
	return readRate(s)
}

// rateNamed returns the rate of the limit with a name, or why there is none.
func rateNamed(t *core.Tx, namespace, name string) (rate, error) {
	s := t.Stmt("rate_named")
	s.BindText(namespace)
	s.BindText(name)
	r, err := readRate(s)
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

func (r *rate) put(t *core.Tx) error {
	s := t.Stmt("rate_put")
	if r.has {
		s.BindInt(r.Period)
	} else {
		s.BindNull()
	}
	s.BindInt(r.Burst)
	s.BindInt(r.Tat)
	s.BindInt(r.Seen)
	s.BindInt(r.Move)
	s.BindInt(r.Drained)
	s.BindInt(r.limit)
	return db.Exec(s)
}

// setRate gives a limit that was saved its rate.
func setRate(t *core.Tx, limit int64, to *store.Rate) error {
	r, err := rateOf(t, limit)
	if err != nil {
		return err
	}
	if r.has = to != nil; r.has {
		r.Become(t.Now, to)
	}
	return r.put(t)
}

// TakePermits implements store.Rates.
func (v Verbs) TakePermits(ctx context.Context, asks []store.PermitAsk) (taken []store.Permits, err error) {
	if err := store.CheckPermits(asks); err != nil {
		return nil, err
	}
	// A write wakes all processes, and so would one for nothing, for ever.
	needed := func(t *core.Tx) (bool, error) {
		taken = nil
		for i := range asks {
			if asks[i].Back > 0 || !asks[i].IfWaiting {
				return true, nil
			}
			if waits, err := waiting(t, asks[i].Limit); waits || err != nil {
				return waits, err
			}
			taken = append(taken, store.Permits{Limit: asks[i].Limit, None: true})
		}
		return false, nil
	}
	err = v.d.WriteIf(ctx, "ask for permits of limits", needed, func(t *core.Tx) error {
		taken = nil
		for i := range asks {
			r, err := rateOf(t, asks[i].Limit)
			if err != nil {
				return err
			}
			if !r.has || r.version != asks[i].Version {
				continue
			}
			p, changed := r.Take(t.Now, &asks[i])
			taken = append(taken, p)
			if changed {
				if err := r.put(t); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return taken, nil
}

// waiting reports whether a job is available that counts in a limit.
func waiting(t *core.Tx, limit int64) (bool, error) {
	s := t.Stmt("limit_counts")
	s.BindInt(limit)
	namespace, settings := "", ""
	if err := db.Each(s, func() error { namespace, settings = s.ReadText(), s.ReadText(); return nil }); err != nil || settings == "" {
		return true, err
	}
	counts, err := store.DecodeLimit(settings)
	if err != nil {
		return false, err
	}
	s = t.Stmt("waiting")
	s.BindText(namespace)
	s.BindInt(t.Now)
	for _, names := range [][]string{counts.Queues, slices.Sorted(maps.Keys(counts.Kinds))} {
		text, err := json.Marshal(names)
		if err != nil {
			return false, fmt.Errorf("%w: %w", store.ErrInvalid, err)
		}
		s.BindInt(db.BoolInt(len(names) == 0))
		s.BindText(string(text))
	}
	return db.Exists(s)
}

// Drain implements store.Rates.
func (v Verbs) Drain(ctx context.Context, namespace, name string, until time.Time, actor string) error {
	if err := store.CheckDrain(name, until); err != nil {
		return err
	}
	return v.d.Write(ctx, fmt.Sprintf("drain limit %q", name), func(t *core.Tx) error {
		r, err := rateNamed(t, namespace, name)
		if err != nil {
			return err
		}
		was := r.Drained
		r.Drain(t.Now, until.UnixMicro())
		if err := r.put(t); err != nil || r.Drained == was {
			return err
		}
		return core.AuditChange(t, 0, audited.LimitDrained(namespace, name, until, actor))
	})
}

// ResumeLimit implements store.Rates.
func (v Verbs) ResumeLimit(ctx context.Context, params store.ResumeLimitParams) error {
	return v.d.Write(ctx, fmt.Sprintf("resume limit %q", params.Name), func(t *core.Tx) error {
		r, err := rateNamed(t, params.Namespace, params.Name)
		if err != nil || !r.Resume(t.Now) {
			return err
		}
		if err := r.put(t); err != nil {
			return err
		}
		return core.AuditChange(t, 0, audited.LimitResumed(&params))
	})
}

// Reserve is that of store.Rates; write does the append, as the last thing.
func Reserve(ctx context.Context, d *core.Database, v *store.Reservation, write func(*core.Tx, *store.Append) error) error {
	return d.Write(ctx, fmt.Sprintf("reserve a permit of limit %q", v.Name), func(t *core.Tx) error {
		r, err := rateNamed(t, v.Namespace, v.Name)
		if err != nil {
			return err
		}
		changed, err := r.Reserve(t.Now, v)
		if err != nil {
			return err
		}
		if changed {
			if err := r.put(t); err != nil {
				return err
			}
		}
		v.Append.Repeat = false
		v.Say(v)
		if err := write(t, v.Append); err != nil {
			return err
		}
		return v.Append.Err // and nothing has happened
	})
}
