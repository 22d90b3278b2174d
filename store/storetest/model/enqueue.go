package model

import (
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model/copyof"
)

func (s *Store) enqueue(q *store.Enqueue, now time.Time) (store.EnqueueResult, error) {
	if err := q.Check(); err != nil {
		return store.EnqueueResult{}, err
	}
	if s.isTaken(q) {
		return store.EnqueueResult{}, store.ErrBusy
	}
	for _, f := range q.AllFollowUps() {
		f.Result, f.Err = store.EnqueueResult{}, nil
	}
	body := copyof.Job(q.Job)
	runAt := body.RunAt.Truncate(time.Microsecond)
	if body.RunAt.IsZero() {
		runAt = now.Add(max(q.Delay, 0)).Truncate(time.Microsecond)
	}
	// The id is looked at before the unique key: a repeated enqueue asks about that job.
	switch known := s.jobs[body.ID]; {
	case known == nil:
	case known.Namespace != body.Namespace:
		return store.EnqueueResult{}, store.TakenID(body.ID)
	default:
		return store.EnqueueResult{ID: body.ID, Existing: true, RunAt: known.RunAt}, nil
	}
	if err := s.refusal(&body); err != nil {
		return store.EnqueueResult{}, err
	}
	if id, taken := s.unique[string(body.UniqueKey)]; taken && len(body.UniqueKey) > 0 {
		return s.onConflict(q, s.jobs[id], body, runAt, now)
	}
	if result, held := s.keyHolder(q, now); held {
		return result, nil
	}
	if err := s.lacks(body.Namespace, body.ID, q.After); err != nil {
		return store.EnqueueResult{}, err
	}
	j := &job{Job: body, endings: map[store.Lease]store.State{}}
	j.CreatedAt, j.Attempt, j.LeaseNumber, j.Closing, j.Attributes = now, 0, 0, false, nil
	s.search(j, body.Attributes)
	j.Options.Deadline = j.Options.Deadline.Truncate(time.Microsecond)
	if len(j.UniqueKey) > 0 {
		s.unique[string(j.UniqueKey)] = j.ID
	}
	s.touch(j.Namespace, j.Queue, now)
	s.jobs[j.ID] = j
	if err := s.takeKey(j, now); err != nil {
		return store.EnqueueResult{}, err
	}
	if on := s.unfinished(j.ID, q.After); len(on) > 0 {
		s.await(j, on, stateAt(runAt, now), runAt, now)
	} else {
		s.put(j, runAt, now)
	}
	result := store.EnqueueResult{ID: j.ID, State: j.state, RunAt: j.RunAt}
	for _, f := range q.FollowUps {
		f.Result, f.Err = s.enqueue(f, now)
	}
	return result, nil
}

// enqueueSending is an enqueue with a Send: both happen or neither.
func (s *Store) enqueueSending(q *store.Enqueue, now time.Time) (store.EnqueueResult, error) {
	if err := q.Check(); err != nil {
		return store.EnqueueResult{}, err
	}
	if before, known := s.sent[enqueueIDOf(q)]; known {
		result := store.EnqueueResult{ID: before.job, Existing: true, Differs: before.differs}
		if j := s.jobs[before.job]; j != nil {
			result.RunAt = j.RunAt
		}
		q.Send.Job, q.Send.Result = before.job, store.SendResult{Seq: before.seq, Duplicate: true}
		return result, nil
	}
	before := s.clone()
	result, err := s.enqueue(q, now)
	if err != nil {
		return result, err
	}
	q.Send.Job = result.ID
	if q.Send.Result, err = s.send(q.Send, now); err != nil {
		s.restore(before)
		if q.Send.Result = (store.SendResult{}); result.ID != q.Job.ID && !errors.Is(err, store.ErrBusy) {
			err = store.KeyKept(q.Job.Options.Key, result.ID)
		}
		return store.EnqueueResult{}, err
	}
	s.sent[enqueueIDOf(q)] = sentAlong{result.ID, q.Send.Result.Seq, now, result.Differs}
	return result, nil
}

func (s *Store) onConflict(q *store.Enqueue, holder *job, body store.Job, runAt, now time.Time) (store.EnqueueResult, error) {
	rule := q.OnConflict
	if rule == store.Reject {
		return store.EnqueueResult{}, &store.UniqueError{Holder: holder.ID}
	}
	// Reading: "has not started" is "was never claimed". A snoozed or released job counts no
	// attempt, but its handler has seen the old args.
	waits := holder.state == store.Available || holder.state == store.Scheduled
	if rule == store.ReturnExisting || !waits || holder.LeaseNumber > 0 || holder.Kind != body.Kind {
		return store.EnqueueResult{ID: holder.ID, Existing: true, RunAt: holder.RunAt}, nil
	}
	holder.Args, holder.Codec, holder.Metadata = body.Args, body.Codec, body.Metadata
	s.search(holder, body.Attributes)
	if latest := holder.CreatedAt.Add(q.MaxDelay); q.MaxDelay > 0 && latest.Before(runAt) {
		runAt = latest
	}
	s.put(holder, runAt, now)
	return store.EnqueueResult{ID: holder.ID, Existing: true, Replaced: true, RunAt: runAt}, nil
}

// mayStart reports whether nothing is in the way of the jobs that are to start.
func (s *Store) mayStart(batch *store.Batch, now time.Time) bool {
	if !s.alive(batch.Start.Node) || s.claims[claimName{batch.Start.Node, batch.Start.Seq}] {
		return false
	}
	for _, q := range batch.Enqueues {
		// Reading: whether a job waits beside one that was enqueued before, and does not start now,
		// is not asked.
		if s.jobs[q.Job.ID] != nil || !q.MayStart() || q.Job.Check() != nil || q.Delay > 0 && q.Job.RunAt.IsZero() || q.Job.RunAt.After(now) {
			continue
		}
		if s.isPaused(queueName{q.Job.Namespace, q.Job.Queue}, now) {
			return false
		}
		waiting := s.selected(func(j *job) bool {
			return j.state == store.Available && s.hasTurn(j) && j.Namespace == q.Job.Namespace && j.Queue == q.Job.Queue &&
				j.Priority == q.Job.Priority && j.lane() == q.Job.Kind && j.Options.Limit == "" && j.Options.FairKey == ""
		})
		if len(waiting) > 0 {
			return false
		}
	}
	return true
}
