package postgres

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
)

// claimRecords is how many claim records are given back in one statement.
const claimRecords = 100

// heldRun is a run whose node will not end it.
type heldRun struct {
	*run
	job  store.Job
	body bool // the job is there
}

// heldRuns reads what nodes still hold, by one of the statements claims_of_node and claims_of_dead.
func (s *Store) heldRuns(ctx context.Context, t session, statement string, args ...any) ([]*heldRun, error) {
	var held []*heldRun
	var lanes []int32
	err := t.run(ctx, statement, func(r row) error {
		var (
			h                    = &heldRun{run: &run{}}
			l                    = &h.lease
			id                   pgtype.UUID
			slot                 int64
			lane                 *int32
			runAt, createdAt     *int64
			attempt, maxAttempts *int32
			options              []byte
			key                  *string
			b                    body
			wrote                *int64
			hasChildren          bool
		)
		err := r.Scan(&l.Node, &l.Claim, &slot, &id, &l.Number, &lane, &runAt, &createdAt, &attempt, &maxAttempts, &options, &key,
			&b.parent, &b.link, &b.closing, &wrote, &hasChildren)
		if err != nil {
			return err
		}
		l.Slot, l.Job = int(slot), id.Bytes
		held = append(held, h)
		if h.body = lane != nil; !h.body {
			return nil
		}
		h.lane = *lane
		lanes = append(lanes, *lane)
		b.runAt, b.createdAt, b.lease, b.attempt, b.maxAttempts = *runAt, *createdAt, l.Number, *attempt+1, *maxAttempts
		b.options, b.orderingKey = options, key
		h.job, err = b.job(l.Job)
		h.answers = h.job.Answers
		if wrote != nil {
			h.traits |= traitDurable
		}
		if wrote != nil && *wrote == l.Number {
			h.traits |= traitFree
			h.job.Attempt--
		}
		if hasChildren {
			h.traits |= traitChildren
		}
		return err
	}, args...)
	if err != nil {
		return nil, err
	}
	if err := s.knowLanes(ctx, lanes); err != nil {
		return nil, err
	}
	for _, h := range held {
		if h.body {
			if err := s.describe(&h.job, h.lane); err != nil {
				return nil, err
			}
		}
	}
	return held, nil
}

// endHeld ends such runs: together, or, if that fails because of one of them, each on its own. What cannot be ended even
// so stays where it is; its final state stays 0. Parents are told in the order of their nodes and ids. It returns whom that woke.
func (s *Store) endHeld(ctx context.Context, t session, held []*heldRun, now int64) (woken, error) {
	var runs []*run
	slices.SortFunc(held, func(a, b *heldRun) int {
		return cmp.Or(cmp.Compare(a.lease.Node, b.lease.Node), bytes.Compare(a.lease.Job[:], b.lease.Job[:]))
	})
	for i, h := range held {
		h.place = i
		if h.body {
			runs = append(runs, h.run)
			continue
		}
		if err := t.run(ctx, "slot_drop", nil, h.lease.Node, h.lease.Claim, int32(h.lease.Slot)); err != nil {
			return nil, err
		}
	}
	w := woken{}
	if len(runs) == 0 {
		return w, nil
	}
	list := func(runs ...*run) []statement {
		var n news
		n.addRuns(runs)
		list := append([]statement{lockBodies(idsOf(runs), n.children)}, endings(runs, runs, false, now)...)
		if !n.isEmpty() {
			list = append(list, w.wake(n, now))
		}
		return list
	}
	err := t.attempt(ctx, func(t session) error { return t.runAll(ctx, list(runs...)) })
	own := func(err error) bool { return isData(err) || codeOf(err) == codeLockTimeout }
	if !own(err) {
		return w, err
	}
	clear(w)
	if err := t.exec(ctx, shortWait); err != nil {
		return nil, err
	}
	one := func(r *run) []statement { return list(r) }
	if err := endEach(ctx, t, runs, one, own, func(*run, error) {}); err != nil {
		return nil, err
	}
	return w, t.exec(ctx, longWait)
}

// Rescue implements store.Maintenance. Nodes are marked dead first, under a lock that waits for a claim of theirs that is on
// its way: whatever such a node writes later finds no lease. Limit is that of claim records; 0 means 100.
func (s *Store) Rescue(ctx context.Context, params store.RescueParams) ([]store.Rescued, error) {
	var rescued []store.Rescued
	var w woken
	freed := false
	err := patiently(ctx, func() (err error) {
		rescued, w, freed, err = s.rescue(ctx, params)
		return err
	})
	if err != nil {
		return nil, classify(ctx, "rescue", err)
	}
	s.tellWoken(ctx, w)
	if freed {
		_ = s.handOnAfterCommit(ctx) // promotion does it otherwise
	}
	return rescued, nil
}

func (s *Store) rescue(ctx context.Context, params store.RescueParams) (rescued []store.Rescued, w woken, freed bool, err error) {
	limit := int32(params.Limit)
	if limit <= 0 {
		limit = claimRecords
	}
	found := false
	err = s.send(ctx, statement{name: "nodes_die", args: []any{params.DeadAfter.Microseconds(), s.injected()}, each: func(r row) error {
		return r.Scan(&found)
	}})
	if err != nil || !found {
		return nil, nil, false, err
	}
	err = s.inTx(ctx, beginHot, func(t session) error {
		held, err := s.heldRuns(ctx, t, "claims_of_dead", limit)
		if err != nil || len(held) == 0 {
			return err
		}
		now := s.now()
		for _, h := range held {
			h.state, h.reason = store.Failed, string(store.ReasonCrashLoop)
			if !h.body {
				continue
			}
			if delay, retry := params.Decide(h.job); retry {
				h.state, h.reason, h.runAt = store.Retryable, string(store.ReasonNodeLost), now+max(delay, 0).Microseconds()
			}
		}
		if w, err = s.endHeld(ctx, t, held, now); err != nil {
			return err
		}
		for _, h := range held {
			if h.final == 0 {
				continue
			}
			freed = freed || h.final.Finished() && h.job.OrderingKey != ""
			rescued = append(rescued, store.Rescued{
				Job: h.lease.Job, Node: h.lease.Node, State: h.final, Reason: h.finalReason, Queue: h.job.Queue, RunAt: timeOf(h.finalRunAt),
			})
		}
		return nil
	})
	return rescued, w, freed, err
}
