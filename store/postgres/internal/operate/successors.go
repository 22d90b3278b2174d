package operate

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/locks"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/write"
)

const (
	// markAtOnce is how many bodies of predecessors one transaction marks.
	markAtOnce = 1000
	// claimsOver is after what time no claim is under way any more that has begun before: its
	// caller has given it up.
	claimsOver = 2 * store.CallTimeout
)

// tellSuccessors tells up to limit jobs how those after which they come have ended, of the next
// predecessors of the round, and reports whether there were so many. Jobs that a caller's
// transaction has are left to the next round.
func (s *Store) tellSuccessors(ctx context.Context, limit int, closed *store.Closed) (full bool, err error) {
	round := &s.rounds.succeeding
	if err := s.watch(ctx, closed); err != nil || limit <= 0 {
		return true, err
	}
	var over []pgtype.UUID
	if closed.Watch {
		args := []any{pg.UUIDOf(s.rounds.after(round)), int32(limit)}
		err = s.Send(ctx, pg.Statement{Name: "edge_checks_over", Args: args, Each: scanIDs(&over)})
		if err != nil {
			return false, err
		}
	}
	told := 0
	if len(over) > 0 {
		var p *telling
		err = pg.RetryOnConflict(ctx, func() error {
			return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
				p = &telling{store: s, t: t, now: s.Micros(), woken: write.Woken{}}
				return p.all(ctx, over, limit)
			})
		})
		if err != nil {
			return false, err
		}
		told = p.told
		closed.Ended = append(closed.Ended, p.ended...)
		closed.Wakes = append(closed.Wakes, s.AfterCommit(ctx, p.woken, told > 0)...)
		if p.due != nil {
			closed.Wakes = store.AddWake(closed.Wakes, write.DueAt(*p.due))
		}
	}
	switch {
	case told >= limit: // these predecessors may have more successors
	case len(over) >= limit:
		s.rounds.pass(round, over[len(over)-1].Bytes, told > 0)
	default:
		s.rounds.pass(round, store.ID{}, told > 0) // those that were cancelled may have successors
	}
	return told >= limit, nil
}

// watch marks the bodies of predecessors, and drops the notes of those whose ends will be noted.
func (s *Store) watch(ctx context.Context, closed *store.Closed) error {
	unmarked := false
	left := pg.Statement{Name: "edge_checks_left", Each: func(r pg.Row) error { return r.Scan(&closed.Watch, &unmarked) }}
	if err := s.Send(ctx, left); err != nil || !closed.Watch {
		return err
	}
	now := s.Micros()
	var list []pg.Statement
	if unmarked {
		list = append(list, pg.Statement{Name: "edge_mark", Args: []any{now, int32(markAtOnce)}})
	}
	list = append(list, pg.Statement{Name: "edge_unwatch", Args: []any{now - int64(claimsOver/time.Microsecond)}}, left)
	return pg.RetryOnConflict(ctx, func() error { return s.Send(ctx, list...) })
}

func scanIDs(list *[]pgtype.UUID) func(pg.Row) error {
	return func(r pg.Row) error {
		var id pgtype.UUID
		err := r.Scan(&id)
		*list = append(*list, id)
		return err
	}
}

// telling is what one transaction does.
type telling struct {
	store *Store
	t     pg.Session
	now   int64

	told  int
	ended []store.ID
	woken write.Woken
	due   *int64 // of a job that goes on and is due later; the soonest
}

// pairs are predecessors and their successors.
type pairs struct {
	on, jobs []pgtype.UUID
	states   []int32 // of the predecessors
}

func (p *pairs) add(on, job pgtype.UUID, state int32) {
	p.on, p.jobs, p.states = append(p.on, on), append(p.jobs, job), append(p.states, state)
}

// all tells up to limit successors of predecessors.
func (p *telling) all(ctx context.Context, over []pgtype.UUID, limit int) error {
	var found pairs
	err := p.t.Run(ctx, "edge_successors", func(r pg.Row) error {
		var on, job pgtype.UUID
		err := r.Scan(&on, &job)
		found.add(on, job, 0)
		return err
	}, over, int32(limit))
	if err != nil {
		return err
	}
	if p.told = len(found.jobs); p.told > 0 {
		if err := p.tell(ctx, &found); err != nil {
			return err
		}
	}
	return p.t.Run(ctx, "edge_checked", nil, over)
}

// tell tells successors, whose bodies are locked, what is now known of their predecessors.
func (p *telling) tell(ctx context.Context, found *pairs) error {
	var met, held pairs
	var order []unmet // for whose sake jobs are cancelled
	cancelled, states := map[unmet][]store.ID{}, map[store.ID]store.State{}
	err := p.t.Run(ctx, "edge_told_of", func(r pg.Row) error {
		var on, job pgtype.UUID
		var policy, state int32
		if err := r.Scan(&on, &job, &policy, &state); err != nil {
			return err
		}
		switch policy := store.FailurePolicy(policy); {
		case policy.Lets(store.State(state)), policy == store.RunIfFailed:
			met.add(on, job, state)
		case policy == store.HoldIfFailed && state == 0: // it is gone
			held.add(on, job, int32(store.Cancelled))
		case policy == store.HoldIfFailed:
			held.add(on, job, state)
		default:
			u := unmet{on.Bytes, policy}
			if cancelled[u] == nil {
				order = append(order, u)
			}
			cancelled[u], states[u.on] = append(cancelled[u], job.Bytes), store.State(state)
		}
		return nil
	}, found.on, found.jobs)
	if err != nil {
		return err
	}
	if len(held.on) > 0 {
		if err := p.t.Run(ctx, "edge_told", nil, held.on, held.jobs, held.states); err != nil {
			return err
		}
	}
	for _, u := range order {
		if err := p.cancel(ctx, u, states[u.on], cancelled[u]); err != nil {
			return err
		}
	}
	if len(met.on) == 0 {
		return nil
	}
	if err := p.t.Run(ctx, "edge_met", nil, met.on, met.jobs); err != nil {
		return err
	}
	return p.release(ctx, met.jobs)
}

// unmet is a predecessor that ended otherwise than jobs with a policy need it.
type unmet struct {
	on     store.ID
	policy store.FailurePolicy
}

// cancel cancels successors of a job that ended otherwise than they need it. One that answers a
// parent which another transaction has is left to the next time. One that was cancelled for the
// sake of another job just now has finished.
func (p *telling) cancel(ctx context.Context, u unmet, state store.State, ids []store.ID) error {
	ids = slices.DeleteFunc(ids, func(id store.ID) bool { return slices.Contains(p.ended, id) })
	free, err := locks.GrabFor(ctx, p.t, ids)
	if err != nil || len(free) == 0 {
		return err
	}
	c := &cancelling{CancelParams: store.CancelParams{Reason: u.policy.UnmetWords(u.on, state), Actor: "job " + u.on.String()}}
	var f found
	uuids := pg.UUIDsOf(free)
	err = p.t.RunAll(ctx, []pg.Statement{f.cancelling(c, uuids, p.now), f.woken.Wake(write.WakeCandidates{Children: uuids}, p.now)})
	maps.Copy(p.woken, f.woken)
	for _, id := range free {
		if f.ended[id] {
			p.ended = append(p.ended, id)
		}
	}
	return err
}

// release lets those jobs go on that wait for no other one any more.
func (p *telling) release(ctx context.Context, jobs []pgtype.UUID) error {
	return p.t.Run(ctx, "edge_release", func(r pg.Row) error {
		var id pgtype.UUID
		var lane, state int32
		var due *int64
		err := r.Scan(&id, &lane, &state, &due)
		switch {
		case store.State(state) == store.Available:
			p.woken[id.Bytes] = write.WokenJob{Lane: lane}
		case due != nil && (p.due == nil || *due < *p.due):
			p.due = due
		}
		return err
	}, jobs, p.now)
}
