package tend

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/kept"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/apikeys"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/batches"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/classes"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/feed"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/generations"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/limits"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/remains"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/requests"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/updates"
)

// retainLimit is how much one Retain removes if it is not told.
const retainLimit = 1000

// Retain implements store.Maintenance. Each job is removed as a whole, a few hundred in one
// transaction. Limit 0 means 1000; what is left of it when no more jobs are over is for the rest.
func (v Verbs) Retain(ctx context.Context, params store.Retention) (store.Retained, error) {
	if params.Limit <= 0 {
		params.Limit = retainLimit
	}
	r := retaining{left: params.Limit}
	var retained store.Retained
	rules, err := v.rules(ctx, params)
	if err != nil {
		return retained, err
	}
	steps := []func(limit int) (done int, more bool, err error){
		func(limit int) (int, bool, error) { return v.removeLeftovers(ctx, limit) },
		func(limit int) (int, bool, error) { return v.retainAudit(ctx, params.Audit, limit) },
		func(limit int) (int, bool, error) { return v.retainKeys(ctx, limit) },
		func(limit int) (int, bool, error) { return v.markLanes(ctx, limit) },
		func(limit int) (int, bool, error) { return v.removeLanes(ctx, limit) },
		func(limit int) (int, bool, error) { return updates.RetainRefused(ctx, v.d, limit) },
		func(limit int) (int, bool, error) { return feed.Retain(ctx, v.d, params.Feed, limit) },
		func(limit int) (int, bool, error) { return limits.RetainKeys(ctx, v.d, limit) },
		func(limit int) (int, bool, error) { return batches.Retain(ctx, v.d, params.Completed, limit) },
		func(limit int) (int, bool, error) { return classes.ForgetCounts(ctx, v.d, limit) },
		func(limit int) (int, bool, error) { return remains.ForgetStubs(ctx, v.d, params.Stubs, limit) },
		func(limit int) (int, bool, error) { return remains.ForgetBuilds(ctx, v.d, rules.Builds(), limit) },
		func(limit int) (int, bool, error) { return apikeys.Forget(ctx, v.d, limit) },
		func(limit int) (int, bool, error) { return requests.Forget(ctx, v.d, limit) },
	}
	if !params.Archived {
		if err := v.retainByAge(ctx, rules, &r, &retained); err != nil {
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
	bare, err := v.removeSpans(ctx, rules)
	if err != nil {
		return retained, err
	}
	retained.More = r.more || bare
	return retained, v.forgetNodes(ctx)
}

// removeSpans removes spans without bodies that were made longer ago than jobs are kept: those that
// are younger have theirs, but for jobs that people deleted or moved. If all is kept for ever these
// are the only ones, and are looked for among all. It tells whether there may be more.
func (v Verbs) removeSpans(ctx context.Context, rules *kept.Rules) (more bool, err error) {
	return v.spans.Remove(ctx, v.d, db.TimeOf(v.d.Micros()).Add(-rules.Shortest()))
}

// retainAudit removes up to limit records of what people did, to queues or to jobs that were
// removed, and tells whether there are more.
func (v Verbs) retainAudit(ctx context.Context, keep time.Duration, limit int) (removed int, more bool, err error) {
	if keep <= 0 {
		return 0, false, nil
	}
	err = v.d.WriteIf(ctx, "remove old jobs",
		func(t *core.Tx) (bool, error) {
			st := t.Stmt("audit_over")
			st.BindInt(t.Now - keep.Microseconds())
			removed = 0
			more, err = db.Exists(st)
			return more && limit > 0, err
		},
		func(t *core.Tx) error {
			st := t.Stmt("audit_over_delete")
			st.BindInt(t.Now - keep.Microseconds())
			st.BindInt(int64(limit))
			n, err := st.Exec()
			removed, more = int(n), int(n) == limit
			return err
		})
	return removed, more, err
}

// forgetNodes removes nodes that ended long ago and of whose jobs nothing is left to rescue. Their
// builds stay.
func (v Verbs) forgetNodes(ctx context.Context) error {
	forgettable := func(t *core.Tx) ([]int64, error) {
		var nodes []int64
		st := t.Stmt("nodes_forgettable")
		st.BindInt(t.Now - nodesKept.Microseconds())
		return nodes, db.Each(st, func() error {
			nodes = append(nodes, st.ReadInt())
			return nil
		})
	}
	return v.d.WriteIf(ctx, "remove old jobs",
		func(t *core.Tx) (bool, error) {
			nodes, err := forgettable(t)
			return len(nodes) > 0, err
		},
		func(t *core.Tx) error {
			nodes, err := forgettable(t)
			if err != nil {
				return err
			}
			for _, node := range nodes {
				if err := remains.KeepBuild(t, node); err != nil {
					return err
				}
				st := t.Stmt("node_delete")
				st.BindInt(node)
				if err := db.Exec(st); err != nil {
					return err
				}
			}
			return nil
		})
}

// removeLeftovers removes some rows of one job that has left some, and tells whether there may be
// more.
func (v Verbs) removeLeftovers(ctx context.Context, limit int) (done int, more bool, err error) {
	err = v.d.WriteIf(ctx, "remove old jobs",
		func(t *core.Tx) (bool, error) {
			_, found, err := generations.Leftover(t)
			done, more = 0, found
			return found && limit > 0, err
		},
		func(t *core.Tx) error {
			id, found, err := generations.Leftover(t)
			done, more = 0, found
			if err != nil || !found {
				return err
			}
			done = 1
			return generations.RemoveLeft(t, id)
		})
	return done, more, err
}
