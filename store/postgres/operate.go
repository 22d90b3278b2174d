package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
)

// jobsAtOnce is how many jobs an operator's request touches in one transaction.
const jobsAtOnce = 1000

// Cancel implements store.Operators. Each thousand of jobs is a transaction of its own.
func (s *Store) Cancel(ctx context.Context, params store.CancelParams) ([]store.CancelResult, error) {
	states := make(map[store.ID]store.State, len(params.Jobs))
	freed := false
	for ids := params.Jobs; len(ids) > 0; {
		n := min(len(ids), jobsAtOnce)
		if err := s.cancel(ctx, ids[:n], params.Reason, params.Actor, states); err != nil {
			return nil, classify(ctx, "cancel", err)
		}
		ids, freed = ids[n:], true
	}
	if freed {
		_ = s.handOnAfterCommit(ctx) // promotion does it otherwise
	}
	results := make([]store.CancelResult, len(params.Jobs))
	for i, id := range params.Jobs {
		results[i] = store.CancelResult{Job: id, State: states[id]}
		if states[id] == 0 {
			results[i].Err = fmt.Errorf("%w: job %s", store.ErrNotFound, id)
		}
	}
	return results, nil
}

// cancel cancels jobs and notes their states. A job that moves at the very moment is looked at again; one that does so
// again and again is asked to stop, and the sweep sees to it.
func (s *Store) cancel(ctx context.Context, ids []store.ID, reason, actor string, states map[store.ID]store.State) error {
	const tries = 4
	reason, actor = cleanText(reason), cleanText(actor)
	for range tries {
		var moved []store.ID
		err := patiently(ctx, func() error {
			moved = nil
			return s.send(ctx, statement{
				name: "cancel",
				args: []any{uuidsOf(ids), s.now(), reason, actor},
				each: func(r row) error {
					var id pgtype.UUID
					var state int32
					err := r.Scan(&id, &state)
					states[id.Bytes] = store.State(state)
					if state == 0 {
						moved = append(moved, id.Bytes)
					}
					return err
				},
			})
		})
		if err != nil || moved == nil {
			return err
		}
		ids = moved
	}
	for _, id := range ids {
		states[id] = store.Running
	}
	return s.send(ctx, statement{name: "cancel_request_put", args: []any{uuidsOf(ids), s.now(), reason, actor}})
}

// SweepCancels implements store.Maintenance.
func (s *Store) SweepCancels(ctx context.Context) (int, error) {
	applied, err := s.sweepCancels(ctx)
	return applied, classify(ctx, "sweep cancel requests", err)
}

func (s *Store) sweepCancels(ctx context.Context) (applied int, err error) {
	type request struct {
		id            store.ID
		reason, actor string
	}
	var left []request
	err = s.send(ctx, statement{name: "cancel_requests_left", args: []any{int32(jobsAtOnce)}, each: func(r row) error {
		var id pgtype.UUID
		var reason, actor *string
		err := r.Scan(&id, &reason, &actor)
		left = append(left, request{id.Bytes, textOf(reason), textOf(actor)})
		return err
	}})
	if err != nil || len(left) == 0 {
		return 0, err
	}
	ids := make([]store.ID, len(left))
	for i, q := range left {
		ids[i] = q.id
	}
	// First those that have nothing to stop any more: their job has finished, or is gone.
	over := map[store.ID]bool{}
	err = s.send(ctx, statement{name: "cancel_requests_forget", args: []any{uuidsOf(ids)}, each: func(r row) error {
		var id pgtype.UUID
		err := r.Scan(&id)
		over[id.Bytes] = true
		return err
	}})
	if err != nil {
		return 0, err
	}
	for _, q := range left {
		if over[q.id] {
			continue
		}
		states := map[store.ID]store.State{}
		if err := s.cancel(ctx, []store.ID{q.id}, q.reason, q.actor, states); err != nil {
			return applied, err
		}
		if states[q.id] == store.Cancelled {
			applied++
		}
	}
	return applied, nil
}

// Retry implements store.Operators. Each thousand of jobs is a transaction of its own.
func (s *Store) Retry(ctx context.Context, params store.RetryParams) ([]store.RetryResult, error) {
	results := make([]store.RetryResult, 0, len(params.Jobs))
	for ids := params.Jobs; len(ids) > 0; {
		n := min(len(ids), jobsAtOnce)
		part, err := s.retry(ctx, ids[:n], cleanText(params.Actor))
		if err != nil {
			return nil, classify(ctx, "retry", err)
		}
		results, ids = append(results, part...), ids[n:]
	}
	if len(results) > 0 {
		_ = s.handOnAfterCommit(ctx) // promotion does it otherwise
	}
	return results, nil
}

func (s *Store) retry(ctx context.Context, ids []store.ID, actor string) ([]store.RetryResult, error) {
	again := map[store.ID]bool{}
	holders := map[store.ID]store.ID{}
	note := func(r row) error {
		var id pgtype.UUID
		err := r.Scan(&id)
		again[id.Bytes] = true
		return err
	}
	uuids := uuidsOf(ids)
	err := patiently(ctx, func() error {
		clear(again)
		clear(holders)
		now := s.now()
		return s.send(ctx,
			statement{name: "retry_finished", args: []any{uuids, now, actor}, each: note},
			statement{name: "retry_deferred", args: []any{uuids, now, actor}, each: note},
			statement{name: "key_holders_of", args: []any{uuids}, each: func(r row) error {
				var id, holder pgtype.UUID
				err := r.Scan(&id, &holder)
				holders[id.Bytes] = holder.Bytes
				return err
			}})
	})
	if err != nil {
		return nil, err
	}
	records, err := s.recordsOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	states := make(map[store.ID]store.State, len(records))
	for _, r := range records {
		states[r.ID] = r.State
	}
	results := make([]store.RetryResult, len(ids))
	for i, id := range ids {
		r := &results[i]
		r.Job, r.State = id, states[id]
		holder, taken := holders[id]
		switch {
		case again[id]:
			r.State = store.Available
		case r.State == 0:
			r.Err = fmt.Errorf("%w: job %s", store.ErrNotFound, id)
		case r.State == store.Available:
		case taken && r.State.Finished() && r.State != store.Completed:
			r.Err = &store.UniqueError{Holder: holder}
		default:
			r.Err = fmt.Errorf("%w: job %s is %s", store.ErrConflict, id, r.State)
		}
	}
	return results, nil
}
