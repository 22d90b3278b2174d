package postgres

import (
	"context"

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
		)
		err := r.Scan(&l.Node, &l.Claim, &slot, &id, &l.Number, &lane, &runAt, &createdAt, &attempt, &maxAttempts, &options, &key)
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
		h.job = store.Job{
			ID: l.Job, CreatedAt: timeOf(*createdAt), RunAt: timeOf(*runAt), Attempt: int(*attempt) + 1,
			MaxAttempts: int(*maxAttempts), OrderingKey: textOf(key), LeaseNumber: l.Number,
		}
		return decodeOptions(options, &h.job.Options)
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
// so stays where it is; its final state stays 0.
func (s *Store) endHeld(ctx context.Context, t session, held []*heldRun, now int64) error {
	var runs []*run
	for _, h := range held {
		if h.body {
			runs = append(runs, h.run)
			continue
		}
		if err := t.run(ctx, "slot_drop", nil, h.lease.Node, h.lease.Claim, int32(h.lease.Slot)); err != nil {
			return err
		}
	}
	if len(runs) == 0 {
		return nil
	}
	st := conclude(runs, false, now)
	err := t.attempt(ctx, func(t session) error { return t.run(ctx, st.name, st.each, st.args...) })
	if !isData(err) {
		return err
	}
	return concludeEach(ctx, t, runs, false, now, func(*run, error) {})
}

// Rescue implements store.Maintenance. Nodes are marked dead first, under a lock that waits for a claim of theirs that is on
// its way: whatever such a node writes later finds no lease. Limit is that of claim records; 0 means 100.
func (s *Store) Rescue(ctx context.Context, params store.RescueParams) ([]store.Rescued, error) {
	var rescued []store.Rescued
	freed := false
	err := patiently(ctx, func() (err error) {
		rescued, freed, err = s.rescue(ctx, params)
		return err
	})
	if err != nil {
		return nil, classify(ctx, "rescue", err)
	}
	if freed {
		_ = s.handOnAfterCommit(ctx) // promotion does it otherwise
	}
	return rescued, nil
}

func (s *Store) rescue(ctx context.Context, params store.RescueParams) (rescued []store.Rescued, freed bool, err error) {
	limit := int32(params.Limit)
	if limit <= 0 {
		limit = claimRecords
	}
	if err := s.send(ctx, statement{name: "nodes_die", args: []any{params.DeadAfter.Microseconds(), s.injected()}}); err != nil {
		return nil, false, err
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
		if err := s.endHeld(ctx, t, held, now); err != nil {
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
	return rescued, freed, err
}
