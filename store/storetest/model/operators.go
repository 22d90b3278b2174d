package model

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
)

// Cancel implements store.Operators.
func (s *Store) Cancel(ctx context.Context, params store.CancelParams) ([]store.Result, []store.Wake, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer s.mu.Unlock()
	var results []store.Result
	for _, id := range params.Jobs {
		if params.Skip {
			results = append(results, s.skipOne(params, id, now))
			continue
		}
		result := s.cancelOne(params, id, now)
		if j := s.jobs[id]; result.Err == nil && result.State == store.Failed && !params.Unrecorded && s.giveUpTurn(j) {
			s.act(j, audited.Skipped(&params), now)
		}
		results = append(results, result)
	}
	return results, s.woken, nil
}

func (s *Store) cancelOne(params store.CancelParams, id store.ID, now time.Time) store.Result {
	result := store.Result{Job: id}
	j := s.in(params.Namespace, id)
	over := j != nil && j.state.Finished()
	switch {
	case j == nil:
		result.Err = store.NoJob(id)
		return result
	case params.Terminate && s.isKept(id):
		result.Err = store.ErrBusy
		return result
	case params.Terminate:
		if !j.state.Finished() && !params.Unrecorded {
			s.act(j, audited.Cancelled(store.ActionTerminate, params.Actor, params.Reason, j.state, store.Cancelled), now)
		}
		s.terminate(j, params.Reason, now)
	default:
		asked, was := j.cancel != nil, j.state
		s.cancel(j, params.Reason, params.Actor, now)
		// Where a request stands already another one changes nothing, unless the job has no journal
		// any more: then it ends now.
		if !over && (!asked || j.state.Finished()) && !params.Unrecorded {
			is := j.state
			if s.isKept(id) {
				was, is = 0, 0
			}
			s.act(j, audited.Cancelled(store.ActionCancel, params.Actor, params.Reason, was, is), now)
		}
	}
	result.State, result.Ended = j.state, !over && j.state.Finished()
	return result
}

// skipOne lets those behind a job go on that has failed and keeps its turn.
func (s *Store) skipOne(params store.CancelParams, id store.ID, now time.Time) store.Result {
	j := s.in(params.Namespace, id)
	if j == nil {
		return store.Result{Job: id, Err: store.NoJob(id)}
	}
	result := store.Result{Job: id, State: j.state}
	if j.state == store.Failed && s.giveUpTurn(j) {
		s.act(j, audited.Skipped(&params), now)
	} else {
		result.Err = store.JobIs(id, j.state)
	}
	return result
}

// cancel ends a job, or asks it to end: if it runs, or if its run has to end it in order, since it
// has a journal.
func (s *Store) cancel(j *job, reason, actor string, now time.Time) {
	if j.state.Finished() {
		return
	}
	if j.state != store.Running && !j.durable() && !s.isKept(j.ID) {
		j.endedBy = store.Lease{}
		s.finish(j, store.Cancelled, store.ReasonCancelled, reason, now)
		s.close(j)
		s.answer(j, now)
		return
	}
	j.askedLate = j.askedLate || s.isKept(j.ID)
	if j.cancel == nil {
		j.cancel = &store.CancelRequest{Job: j.ID, Reason: reason, Actor: actor, At: now}
	}
	if j.state != store.Running && j.state != store.Available && !s.isKept(j.ID) {
		j.RunAt = now
		s.enter(j, store.Available)
	}
}

// terminate ends a job at once. A run of it is over, and is recorded.
func (s *Store) terminate(j *job, reason string, now time.Time) {
	switch {
	case j.state.Finished():
	case j.state == store.Running:
		s.end(j, s.taken(j, ending{state: store.Cancelled, reason: store.ReasonTerminated, err: reason}), now)
	default:
		j.endedBy = store.Lease{}
		s.finish(j, store.Cancelled, store.ReasonTerminated, reason, now)
		s.close(j)
		s.answer(j, now)
	}
}

// Retry implements store.Operators.
func (s *Store) Retry(ctx context.Context, params store.RetryParams) ([]store.Result, []store.Wake, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer s.mu.Unlock()
	var results []store.Result
	for _, id := range params.Jobs {
		params.Keep = nil
		results = append(results, s.retryOne(params, id, now))
	}
	return results, s.woken, nil
}

func (s *Store) retryOne(params store.RetryParams, id store.ID, now time.Time) store.Result {
	result := store.Result{Job: id}
	j := s.in(params.Namespace, id)
	switch {
	case j == nil:
		result.Err = store.NoJob(id)
		return result
	case s.isKept(id):
		result.Err = store.ErrBusy
		return result
	}
	was := j.state
	if params.Failed && was != store.Failed {
		result.State, result.Err = was, store.JobIs(id, was)
		return result
	}
	if result.Err = s.retry(j, params.Keep, now); result.Err == nil && was != store.Available {
		s.act(j, audited.Retried(params.Actor, params.Reason, was), now)
	}
	result.State = j.state
	return result
}

func (s *Store) retry(j *job, keep func(store.Journal) (int64, error), now time.Time) error {
	switch j.state {
	case store.Available:
		return nil
	case store.Scheduled, store.Retryable:
		// At once, as promotion would have made it later: attempts and unique key stay as they are.
	case store.Failed, store.Cancelled:
		last := j.lastEntry()
		if keep != nil && last > 0 {
			kept, err := keep(store.Journal{Job: j.ID, Entries: slices.Clone(j.journal)})
			if err != nil {
				return err
			}
			last = kept
		}
		if err := s.restart(j, now); err != nil {
			return err
		}
		j.cut(last)
		return nil
	default:
		return store.JobIs(j.ID, j.state)
	}
	j.RunAt = now
	s.enter(j, store.Available)
	return nil
}

// restart lets a job that failed or was cancelled run again, from the first attempt, as if it had
// just been enqueued: it needs its unique key or its business key again. Its journal stays.
func (s *Store) restart(j *job, now time.Time) error {
	if len(j.UniqueKey) > 0 {
		if s.isMoving(j.UniqueKey) {
			return store.ErrBusy
		}
		if holder, taken := s.unique[string(j.UniqueKey)]; taken && holder != j.ID {
			return &store.UniqueError{Holder: holder}
		}
		s.unique[string(j.UniqueKey)] = j.ID
	}
	if err := s.takeKey(j, now); err != nil {
		return err
	}
	s.noteRetry(j)
	delete(s.closed, j.ID)
	j.forgetOpen()
	j.Attempt, j.Closing = 0, false
	j.reason, j.err, j.finishedAt, j.endedBy = "", "", time.Time{}, store.Lease{}
	j.startedAt, j.likeness = time.Time{}, 0
	j.RunAt = now
	s.enter(j, store.Available)
	return nil
}

// Pause implements store.Queues.
func (s *Store) Pause(ctx context.Context, params store.PauseParams) error {
	now, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := params.Check(); err != nil {
		return err
	}
	q := s.touch(params.Namespace, params.Queue, now)
	was := q.deleted
	q.deleted = false
	switch {
	case params.Paused && q.PausedAt.IsZero():
		q.PausedAt, q.PausedBy = now, params.Actor
		s.audit(now, audited.QueuePaused(&params))
	case !params.Paused:
		if !q.PausedAt.IsZero() || !q.Rest.Until.IsZero() || was {
			s.audit(now, audited.QueuePaused(&params))
		}
		q.PausedAt, q.PausedBy, q.Rest = time.Time{}, "", store.Resting{}
	}
	return nil
}

// Rest implements store.Queues.
func (s *Store) Rest(ctx context.Context, params store.RestParams) (store.Resting, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return store.Resting{}, err
	}
	defer s.mu.Unlock()
	if err := params.Check(); err != nil {
		return store.Resting{}, err
	}
	q := s.touch(params.Namespace, params.Queue, now)
	q.deleted = false
	rested := q.Rest
	if q.Rest = params.After(rested, now); q.Rest != rested && params.Actor != "" {
		s.audit(now, audited.QueueRested(&params, q.Rest))
	}
	return q.Rest, nil
}

// SetQueue implements store.Queues.
func (s *Store) SetQueue(ctx context.Context, params store.SetQueueParams) (none store.QueueAttempts, err error) {
	now, err := s.begin(ctx)
	if err != nil {
		return none, err
	}
	defer s.mu.Unlock()
	was := cmp.Or(s.queues[queueName{params.Namespace, params.Queue}], &queue{}).Attempts
	switch _, known := s.classes[params.Set.Retention]; {
	case params.Check() != nil:
		return none, params.Check()
	case params.Set.Retention != "" && !known:
		return none, store.NoRetention(params.Set.Retention)
	case params.Allows(was) != nil:
		return none, params.Allows(was)
	}
	q := s.touch(params.Namespace, params.Queue, now)
	q.deleted = false
	if q.Attempts = params.After(was, now); q.Attempts != was {
		s.audit(now, audited.QueueSet(&params, was, q.Attempts))
	}
	return q.Attempts, nil
}

// AttemptsOfQueues implements store.Queues.
func (s *Store) AttemptsOfQueues(ctx context.Context, namespace string) (map[string]store.QueueAttempts, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	set := map[string]store.QueueAttempts{}
	for name, q := range s.queues {
		if name.namespace == namespace && q.Attempts != (store.QueueAttempts{}) {
			set[name.name] = q.Attempts
		}
	}
	return set, nil
}

// DeleteQueue implements store.Queues.
func (s *Store) DeleteQueue(ctx context.Context, params store.DeleteQueueParams) error {
	now, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := params.Check(); err != nil {
		return err
	}
	name := queueName{params.Namespace, params.Queue}
	q := s.queues[name]
	switch {
	case q == nil || !s.isListed(q):
		return store.NoQueue(params.Queue)
	case s.hasUnfinished(name):
		return refusal.QueueInUse(params.Queue)
	}
	q.PausedAt, q.PausedBy, q.Rest, q.deleted = time.Time{}, "", store.Resting{}, true
	q.Attempts = store.QueueAttempts{}
	s.audit(now, store.AuditEntry{
		Actor: params.Actor, Action: "delete", Namespace: params.Namespace, Target: store.AuditTarget{Kind: store.AuditQueue, Name: params.Queue},
	})
	return nil
}
