package model

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// What persons do is recorded in a database. The contract has no way to read that record, so there is none here.

// Cancel implements store.Operators.
func (s *Store) Cancel(ctx context.Context, params store.CancelParams) ([]store.CancelResult, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var results []store.CancelResult
	for _, id := range params.Jobs {
		result := store.CancelResult{Job: id}
		j := s.jobs[id]
		switch {
		case j == nil:
			result.Err = store.ErrNotFound
		case j.state == store.Running:
			if j.cancel == nil {
				j.cancel = &store.CancelRequest{Job: id, Reason: params.Reason, Actor: params.Actor, At: now}
			}
		case !j.state.Finished():
			j.endedBy = store.Lease{}
			s.finish(j, store.Cancelled, store.ReasonCancelled, params.Reason, now)
		}
		if j != nil {
			result.State = j.state
		}
		results = append(results, result)
	}
	return results, nil
}

// Retry implements store.Operators.
func (s *Store) Retry(ctx context.Context, params store.RetryParams) ([]store.RetryResult, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var results []store.RetryResult
	for _, id := range params.Jobs {
		result := store.RetryResult{Job: id}
		if j := s.jobs[id]; j == nil {
			result.Err = store.ErrNotFound
		} else {
			result.Err = s.retry(j, now)
			result.State = j.state
		}
		results = append(results, result)
	}
	return results, nil
}

func (s *Store) retry(j *job, now time.Time) error {
	switch j.state {
	case store.Available:
		return nil
	case store.Scheduled, store.Retryable:
		// At once, as promotion would have made it later: attempts and unique key stay as they are.
	case store.Failed, store.Cancelled:
		// From the first attempt, as if it had just been enqueued: it needs its unique key again.
		if len(j.UniqueKey) > 0 {
			if holder, taken := s.unique[string(j.UniqueKey)]; taken && holder != j.ID {
				return &store.UniqueError{Holder: holder}
			}
			s.unique[string(j.UniqueKey)] = j.ID
		}
		j.Attempt = 0
		j.reason, j.err, j.finishedAt, j.endedBy = "", "", time.Time{}, store.Lease{}
	default:
		return store.ErrConflict
	}
	j.RunAt = now
	s.enter(j, store.Available)
	return nil
}

// Pause implements store.Operators.
func (s *Store) Pause(ctx context.Context, params store.PauseParams) error {
	now, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	q := s.queue(params.Namespace, params.Queue, now)
	switch {
	case params.Paused && q.PausedAt.IsZero():
		q.PausedAt, q.PausedBy = now, params.Actor
	case !params.Paused && !q.PausedAt.IsZero():
		q.PausedAt, q.PausedBy = time.Time{}, ""
	}
	return nil
}
