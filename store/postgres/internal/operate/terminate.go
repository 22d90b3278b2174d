package operate

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/locks"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/write"
)

// terminateOnce ends jobs wherever they are. The leases of those that run are taken from their
// nodes, which have to let go of their fences first. One that has gone to another node meanwhile
// still runs, and is found the next time.
func (s *Store) terminateOnce(ctx context.Context, c *cancelling, ids []store.ID) (f found, err error) {
	uuids := pg.UUIDsOf(ids)
	err = s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
		held, err := s.takeRuns(ctx, t, uuids)
		if err != nil {
			return err
		}
		now := s.Micros()
		free, err := locks.GrabFor(ctx, t, ids)
		if err != nil {
			return err
		}
		if cancel := f.cancelling(c, pg.UUIDsOf(free), now); len(free) > 0 {
			if err := t.Run(ctx, cancel.Name, cancel.Each, cancel.Args...); err != nil {
				return err
			}
		}
		f.noteBusy(ids, free)
		for _, h := range held {
			h.State, h.Reason, h.Error = store.Cancelled, string(store.ReasonTerminated), c.Reason
			h.Answers = false // in the order of the request, below
		}
		if _, err = s.endHeld(ctx, t, held, now); err != nil {
			return err
		}
		var taken []pgtype.UUID
		for _, h := range held {
			if h.Final != 0 {
				taken = append(taken, pg.UUIDOf(h.Lease.Job))
				f.states[h.Lease.Job], f.ended[h.Lease.Job] = store.Cancelled, true
			}
		}
		var children []*write.Run
		for i, id := range ids {
			if f.ended[id] && !slices.Contains(ids[:i], id) {
				children = append(children, &write.Run{Lease: store.Lease{Job: id}, Place: i})
			}
		}
		if !c.recorded {
			taken = nil
		}
		return t.RunAll(ctx, []pg.Statement{
			{Name: "terminate_audit", Args: []any{taken, now, c.Reason, c.Actor}},
			write.Answer(children, nil, now),
			f.woken.Wake(write.WakeCandidates{Children: write.IDsOf(children)}, now),
		})
	})
	return f, err
}

// takeRuns reads which of the jobs run, and keeps their nodes from writing to their journals until
// the transaction ends.
func (s *Store) takeRuns(ctx context.Context, t pg.Session, ids []pgtype.UUID) ([]*heldRun, error) {
	var nodes []int64
	err := t.Run(ctx, "nodes_of_jobs", func(r pg.Row) error {
		var node int64
		err := r.Scan(&node)
		nodes = append(nodes, node)
		return err
	}, ids)
	if err != nil || len(nodes) == 0 {
		return nil, err
	}
	if err := t.Run(ctx, "fence_out", nil, nodes); err != nil {
		return nil, err
	}
	return s.heldRuns(ctx, t, "slots_of_jobs", ids, nodes)
}
