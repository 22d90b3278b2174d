package operate

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/read"
	"github.com/holdfastdev/holdfast/store/postgres/internal/write"
)

// RetryTx is that of store.Callers in the transaction of t, without the class of its error.
func (s *Store) RetryTx(ctx context.Context, t pg.Runner, params store.RetryParams) ([]store.Result, error) {
	return s.inCallers(ctx, t, params.Namespace, params.Jobs, "retry", func(v *visit, ids []store.ID) ([]store.ID, error) {
		free, left, err := v.grab(ctx, ids)
		if err != nil || len(free) == 0 {
			return left, err
		}
		spots, err := spotsOf(ctx, t, free)
		if err != nil {
			return nil, err
		}
		cuts, err := v.cuts(ctx, spots, params.Keep)
		if err != nil {
			return nil, err
		}
		free = slices.DeleteFunc(free, func(id store.ID) bool {
			if p := spots[id]; v.errs[id] != nil {
				v.states[id] = p.state
			}
			return v.errs[id] != nil
		})
		held, err := v.retry(ctx, free, params, cuts)
		return append(left, held...), err
	})
}

// cuts are how much of the journals of finished jobs stays. Those of which it is refused get the
// error.
func (v *visit) cuts(
	ctx context.Context, spots map[store.ID]spot, keep func(store.Journal) (int64, error),
) (map[store.ID]int64, error) {
	var ids []store.ID
	for id, p := range spots {
		if keep != nil && p.remembers && (p.state == store.Failed || p.state == store.Cancelled) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	journals, err := read.JournalsIn(ctx, v.t, ids)
	cuts := map[store.ID]int64{}
	for _, j := range journals {
		last, refused := keep(j)
		if refused != nil {
			v.errs[j.Job] = refused
		} else if last < j.LastSeq() {
			cuts[j.Job] = last
		}
	}
	return cuts, err
}

// retry lets jobs run again whose bodies are locked, and returns those whose unique keys another
// transaction is taking or giving back: these are not waited for long.
func (v *visit) retry(ctx context.Context, ids []store.ID, params store.RetryParams, cuts map[store.ID]int64) (held []store.ID, err error) {
	wait := write.Briefly
	for parts := [][]store.ID{ids}; len(parts) > 0; {
		part := parts[0]
		if parts = parts[1:]; len(part) == 0 {
			continue
		}
		now := newRetried()
		isHeld, err := patiently(ctx, v.t, wait, func() error {
			for _, st := range now.retrying(pg.UUIDsOf(part), v.now, params) {
				if err := v.t.Run(ctx, st.Name, st.Each, st.Args...); err != nil {
					return err
				}
			}
			return nil
		})
		switch {
		case err != nil:
			return nil, err
		case isHeld && len(part) == 1:
			held = append(held, part...)
		case isHeld:
			for _, id := range part {
				parts = append(parts, []store.ID{id})
			}
		default:
			if err := v.retried(ctx, part, now, cuts); err != nil {
				return nil, err
			}
		}
		if isHeld {
			wait = write.AtOnce
		}
	}
	return held, nil
}

// retried notes what became of jobs, and cuts the journals of those that run again.
func (v *visit) retried(ctx context.Context, ids []store.ID, now retried, cuts map[store.ID]int64) error {
	maps.Copy(v.news.woken, now.again)
	spots, err := spotsOf(ctx, v.t, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		v.states[id] = spots[id].state
		if !now.isAgain(id) {
			v.errs[id] = now.refusal(id, v.states[id])
			continue
		}
		if last, cut := cuts[id]; cut {
			if err := v.t.Run(ctx, "resume_cut", nil, pg.UUIDOf(id), last); err != nil {
				return err
			}
		}
	}
	return nil
}

// patiently does something in a caller's transaction, but waits for locks no longer than limit:
// then nothing of it has happened, and it is held.
func patiently(ctx context.Context, t pg.Runner, limit time.Duration, do func() error) (held bool, err error) {
	var before string
	if err := t.Run(ctx, "lock_timeout", func(r pg.Row) error { return r.Scan(&before) }); err != nil {
		return false, err
	}
	if err := t.Run(ctx, "savepoint", nil); err != nil {
		return false, err
	}
	st := pg.WaitAtMost(limit)
	if err := t.Run(ctx, st.Name, nil, st.Args...); err != nil {
		return false, err
	}
	switch err := do(); {
	case err == nil:
		err = t.Run(ctx, "wait_at_most", nil, before)
		if err != nil {
			return false, err
		}
	case pg.CodeOf(err) == pg.CodeLockTimeout:
		held = true
		if err := t.Run(ctx, "savepoint_back", nil); err != nil {
			return false, err
		}
	default:
		return false, err
	}
	return held, t.Run(ctx, "savepoint_release", nil)
}
