package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
)

// terminateOnce ends jobs wherever they are. The leases of those that run are taken from their nodes, which have to let go of their fences
// first. One that has gone to another node meanwhile still runs, and is found the next time.
func (s *operateStore) terminateOnce(ctx context.Context, c *cancelling, ids []store.ID) (f found, err error) {
	uuids := uuidsOf(ids)
	err = s.inTx(ctx, beginHot, func(t session) error {
		held, err := s.takeRuns(ctx, t, uuids)
		if err != nil {
			return err
		}
		now := s.micros()
		free, err := s.grabFor(ctx, t, ids)
		if err != nil {
			return err
		}
		if cancel := f.cancelling(c, uuidsOf(free), now); len(free) > 0 {
			if err := t.run(ctx, cancel.name, cancel.each, cancel.args...); err != nil {
				return err
			}
		}
		f.noteBusy(ids, free)
		for _, h := range held {
			h.state, h.reason, h.error = store.Cancelled, string(store.ReasonTerminated), c.Reason
			h.answers = false // in the order of the request, below
		}
		if _, err = s.endHeld(ctx, t, held, now); err != nil {
			return err
		}
		var taken []pgtype.UUID
		for _, h := range held {
			if h.final != 0 {
				taken = append(taken, uuidOf(h.lease.Job))
				f.states[h.lease.Job], f.ended[h.lease.Job] = store.Cancelled, true
			}
		}
		var children []*run
		for i, id := range ids {
			if f.ended[id] && !slices.Contains(ids[:i], id) {
				children = append(children, &run{lease: store.Lease{Job: id}, place: i})
			}
		}
		if !c.recorded {
			taken = nil
		}
		return t.runAll(ctx, []statement{
			{name: "terminate_audit", args: []any{taken, now, c.Reason, c.Actor}},
			answer(children, nil, now),
			f.woken.wake(wakeCandidates{children: idsOf(children)}, now),
		})
	})
	return f, err
}

// takeRuns reads which of the jobs run, and keeps their nodes from writing to their journals until the transaction ends.
func (s *operateStore) takeRuns(ctx context.Context, t session, ids []pgtype.UUID) ([]*heldRun, error) {
	var nodes []int64
	err := t.run(ctx, "nodes_of_jobs", func(r row) error {
		var node int64
		err := r.Scan(&node)
		nodes = append(nodes, node)
		return err
	}, ids)
	if err != nil || len(nodes) == 0 {
		return nil, err
	}
	if err := t.run(ctx, "fence_out", nil, nodes); err != nil {
		return nil, err
	}
	return s.heldRuns(ctx, t, "slots_of_jobs", ids, nodes)
}
