package sqlite

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

const (
	// retainLimit is how much one Retain removes if it is not told.
	retainLimit = 1000
	// retainChunk is how many jobs, or lanes, or records of what people did it looks at in one
	// transaction, so that it never keeps other writers waiting for more than a few milliseconds.
	retainChunk = 200
	// retainRows is how many rows of jobs it removes in one transaction, a last job not counted.
	retainRows = 4000
)

// Retain implements store.Maintenance. Each job is removed as a whole, a few hundred in one
// transaction. Limit 0 means 1000; what is left of it when no more jobs are over is for the rest.
func (v tendVerbs) Retain(ctx context.Context, params store.Retention) (store.Retained, error) {
	if params.Limit <= 0 {
		params.Limit = retainLimit
	}
	r := retaining{left: params.Limit}
	var retained store.Retained
	steps := []func(limit int) (done int, more bool, err error){
		func(limit int) (int, bool, error) { return v.removeLeftovers(ctx, limit) },
		func(limit int) (int, bool, error) { return v.retainAudit(ctx, params.Audit, limit) },
		func(limit int) (int, bool, error) { return v.markLanes(ctx, limit) },
		func(limit int) (int, bool, error) { return v.removeLanes(ctx, limit) },
	}
	for _, kept := range []struct {
		state store.State
		keep  time.Duration
	}{
		{store.Completed, params.Completed}, {store.Failed, params.Failed}, {store.Cancelled, params.Cancelled},
	} {
		err := r.run(func(limit int) (int, bool, error) {
			removed, more, err := v.retainJobs(ctx, kept.state, kept.keep, limit)
			retained.Jobs += removed
			return removed, more, err
		})
		if err != nil {
			return retained, err
		}
	}
	for _, step := range steps {
		if err := r.run(step); err != nil {
			return retained, err
		}
	}
	if err := v.removeQueues(ctx); err != nil {
		return retained, err
	}
	retained.More = r.more
	return retained, v.forgetNodes(ctx)
}

// retaining is how far a Retain has come.
type retaining struct {
	left int
	more bool // there is more to do than the limit allows
}

// run repeats a step as long as there is more to do and the limit allows it. A step with a limit of
// 0 only looks.
func (r *retaining) run(step func(limit int) (done int, more bool, err error)) error {
	for {
		limit := min(retainChunk, r.left)
		done, more, err := step(limit)
		if err != nil || !more {
			return err
		}
		if r.left -= done; r.left <= 0 {
			r.more = true
			return nil
		}
	}
}

// retainJobs removes up to limit jobs of one state, and tells whether there are more.
func (v tendVerbs) retainJobs(
	ctx context.Context, state store.State, keep time.Duration, limit int,
) (removed int, more bool, err error) {
	if keep <= 0 {
		return 0, false, nil
	}
	expired := func(t *tx) ([]store.ID, error) {
		var ids []store.ID
		st := t.stmt("expired")
		st.bindInt(int64(state))
		st.bindInt(t.now - keep.Microseconds())
		st.bindInt(int64(limit) + 1)
		return ids, each(st, func() error {
			ids = append(ids, readID(st))
			return nil
		})
	}
	err = v.d.writeIf(ctx, "remove old jobs",
		func(t *tx) (bool, error) {
			ids, err := expired(t)
			removed, more = 0, len(ids) > limit
			return len(ids) > 0 && limit > 0, err
		},
		func(t *tx) error {
			ids, err := expired(t)
			if err != nil {
				return err
			}
			removed = 0
			for rows := int64(0); removed < min(limit, len(ids)) && rows < retainRows; removed++ {
				n, err := t.remove(ids[removed])
				if err != nil {
					return err
				}
				rows += n
			}
			more = removed < len(ids)
			return nil
		})
	if err != nil {
		return 0, false, err
	}
	return removed, more, nil
}

// remove deletes a finished job with everything that belongs to it, and returns how many rows that
// was. The unique key goes before the body that names it. What people did to the job is kept as
// long as it is to be.
func (t *tx) remove(id store.ID) (rows int64, err error) {
	s := t.stmt("retain_unique_key")
	bindID(s, id)
	bindID(s, id)
	if err := exec(s); err != nil {
		return 0, err
	}
	for _, name := range []string{
		"retain_attempts", "retain_checkpoint", "cancel_request_delete", "pause_request_delete", "finished_delete", "job_delete",
		"audit_gone",
	} {
		s := t.stmt(name)
		bindID(s, id)
		n, err := s.exec()
		if err != nil {
			return 0, err
		}
		rows += n
	}
	n, err := t.removeAll(id)
	return rows + n, err
}

// retainAudit removes up to limit records of what people did, to queues or to jobs that were
// removed, and tells whether there are more.
func (v tendVerbs) retainAudit(ctx context.Context, keep time.Duration, limit int) (removed int, more bool, err error) {
	if keep <= 0 {
		return 0, false, nil
	}
	err = v.d.writeIf(ctx, "remove old jobs",
		func(t *tx) (bool, error) {
			st := t.stmt("audit_over")
			st.bindInt(t.now - keep.Microseconds())
			removed = 0
			more, err = exists(st)
			return more && limit > 0, err
		},
		func(t *tx) error {
			st := t.stmt("audit_over_delete")
			st.bindInt(t.now - keep.Microseconds())
			st.bindInt(int64(limit))
			n, err := st.exec()
			removed, more = int(n), int(n) == limit
			return err
		})
	return removed, more, err
}

// forgetNodes removes nodes that ended long ago and of whose jobs nothing is left to rescue.
func (v tendVerbs) forgetNodes(ctx context.Context) error {
	forgettable := func(t *tx) ([]int64, error) {
		var nodes []int64
		st := t.stmt("nodes_forgettable")
		st.bindInt(t.now - nodesKept.Microseconds())
		return nodes, each(st, func() error {
			nodes = append(nodes, st.readInt())
			return nil
		})
	}
	return v.d.writeIf(ctx, "remove old jobs",
		func(t *tx) (bool, error) {
			nodes, err := forgettable(t)
			return len(nodes) > 0, err
		},
		func(t *tx) error {
			nodes, err := forgettable(t)
			if err != nil {
				return err
			}
			for _, node := range nodes {
				st := t.stmt("node_delete")
				st.bindInt(node)
				if err := exec(st); err != nil {
					return err
				}
			}
			return nil
		})
}

// removeLeftovers removes some rows of one job that has left some, and tells whether there may be
// more.
func (v tendVerbs) removeLeftovers(ctx context.Context, limit int) (done int, more bool, err error) {
	err = v.d.writeIf(ctx, "remove old jobs",
		func(t *tx) (bool, error) {
			_, found, err := t.leftover()
			done, more = 0, found
			return found && limit > 0, err
		},
		func(t *tx) error {
			id, found, err := t.leftover()
			done, more = 0, found
			if err != nil || !found {
				return err
			}
			done = 1
			return t.removeLeft(id)
		})
	return done, more, err
}
