package operate

import (
	"context"
	"maps"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/read"
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

// retry lets jobs run again whose bodies are locked, and returns those whose keys another
// transaction is taking or giving back.
func (v *visit) retry(ctx context.Context, ids []store.ID, params store.RetryParams, cuts map[store.ID]int64) (held []store.ID, err error) {
	for again := newAttempt(len(ids), params); len(ids) > 0; {
		some, left, err := again.some(ctx, v.t, ids, v.now, func(ids []store.ID, part retried) error { return v.retried(ctx, ids, part, cuts) })
		if err != nil {
			return nil, err
		}
		held, ids = append(held, some...), left
	}
	return held, nil
}

// retried notes what became of jobs, and cuts the journals of those that run again.
func (v *visit) retried(ctx context.Context, ids []store.ID, now retried, cuts map[store.ID]int64) error {
	if len(ids) == 0 {
		return nil
	}
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
