package model

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Apply implements store.Writer: checkpoints, then outcomes, then enqueues, each in the order given.
func (s *Store) Apply(ctx context.Context, batch *store.Batch) error {
	now, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	for _, c := range batch.Checkpoints {
		c.Err = s.writeCheckpoint(c, now)
	}
	for _, o := range batch.Outcomes {
		o.Final, o.Err = s.endRun(o, now)
	}
	for _, q := range batch.Enqueues {
		q.Result, q.Err = s.enqueue(q, now)
	}
	return nil
}

// Tx is a caller's transaction of a Store, which has none: what is enqueued in it happens at once.
type Tx struct{}

// StoreName implements store.Tx.
func (Tx) StoreName() string { return "model" }

// EnqueueTx implements store.Writer.
func (s *Store) EnqueueTx(ctx context.Context, tx store.Tx, enqueues []*store.Enqueue) error {
	if _, ours := tx.(Tx); !ours {
		return fmt.Errorf("%w: not a transaction of this store", store.ErrInvalid)
	}
	return s.Apply(ctx, &store.Batch{Enqueues: enqueues})
}

func (s *Store) enqueue(q *store.Enqueue, now time.Time) (store.EnqueueResult, error) {
	body := copyOf(q.Job)
	runAt := body.RunAt.Truncate(time.Microsecond)
	if body.RunAt.IsZero() {
		runAt = now.Add(max(q.Delay, 0)).Truncate(time.Microsecond)
	}
	// The id is looked at before the unique key: whoever repeats an enqueue asks about that job.
	if known := s.jobs[body.ID]; known != nil {
		return store.EnqueueResult{ID: body.ID, Existing: true, RunAt: known.RunAt}, nil
	}
	if id, taken := s.unique[string(body.UniqueKey)]; taken && len(body.UniqueKey) > 0 {
		return s.onConflict(q.OnConflict, s.jobs[id], body, runAt, now)
	}
	j := &job{Job: body, endings: map[store.Lease]store.State{}}
	j.CreatedAt, j.Attempt, j.LeaseNumber = now, 0, 0
	j.Options.Deadline = j.Options.Deadline.Truncate(time.Microsecond)
	if len(j.UniqueKey) > 0 {
		s.unique[string(j.UniqueKey)] = j.ID
	}
	s.queue(j.Namespace, j.Queue, now)
	s.jobs[j.ID] = j
	s.wait(j, runAt, now)
	return store.EnqueueResult{ID: j.ID, State: j.state, RunAt: j.RunAt}, nil
}

func (s *Store) onConflict(rule store.OnConflict, holder *job, body store.Job, runAt, now time.Time) (store.EnqueueResult, error) {
	if rule == store.Reject {
		return store.EnqueueResult{}, &store.UniqueError{Holder: holder.ID}
	}
	// Reading: "has not started" is "was never claimed". A snoozed or released job counts no attempt, but its
	// handler has seen the old args.
	waits := holder.state == store.Available || holder.state == store.Scheduled
	if rule == store.ReturnExisting || !waits || holder.LeaseNumber > 0 {
		return store.EnqueueResult{ID: holder.ID, Existing: true, RunAt: holder.RunAt}, nil
	}
	holder.Args, holder.Codec, holder.Metadata = body.Args, body.Codec, body.Metadata
	s.wait(holder, runAt, now)
	return store.EnqueueResult{ID: holder.ID, Existing: true, Replaced: true, RunAt: runAt}, nil
}

// live returns the job whose live lease this is, or nil.
func (s *Store) live(lease store.Lease) *job {
	if j := s.jobs[lease.Job]; j != nil && j.state == store.Running && j.lease == lease {
		return j
	}
	return nil
}

func (s *Store) writeCheckpoint(c *store.CheckpointWrite, now time.Time) error {
	j := s.live(c.Lease)
	if j == nil {
		return store.ErrLeaseLost
	}
	j.checkpoint = copyOfCheckpoint(&c.Checkpoint)
	j.checkpoint.UpdatedAt = now
	return nil
}

// endRun applies an outcome and returns the state in which the job is then.
func (s *Store) endRun(o *store.Outcome, now time.Time) (State, error) {
	j := s.live(o.Lease)
	if j == nil {
		if known := s.jobs[o.Lease.Job]; known != nil && o.Repeat {
			if final, applied := known.endings[o.Lease]; applied {
				return final, nil
			}
		}
		return 0, store.ErrLeaseLost
	}
	e := ending{
		state: o.State, reason: o.Reason, err: o.Error, trace: o.Trace,
		result: bytes.Clone(o.Result), startedAt: o.StartedAt.Truncate(time.Microsecond),
	}
	switch o.State {
	case store.Completed, store.Failed:
	case store.Cancelled:
		e.reason = store.ReasonCancelled
	case store.Available:
		e.runAt = now
	case store.Retryable, store.Scheduled:
		e.runAt = o.RunAt.Truncate(time.Microsecond)
		if o.RunAt.IsZero() {
			e.runAt = now.Add(o.Delay).Truncate(time.Microsecond)
		}
	default:
		return 0, fmt.Errorf("%w: a run cannot end as %v", store.ErrInvalid, o.State)
	}
	s.end(j, e, now)
	j.endings[o.Lease] = j.state
	return j.state, nil
}

// ending is how a run ends, whoever ends it: its handler, its node's leave, or a rescue.
type ending struct {
	state     State
	reason    store.Reason
	err       string
	trace     string
	result    []byte
	startedAt time.Time
	runAt     time.Time // of a job that goes on
}

// end is the only way out of Running.
func (s *Store) end(j *job, e ending, now time.Time) {
	deadline := j.Options.Deadline
	switch {
	case e.state.Finished():
	case j.cancel != nil:
		e.state, e.reason, e.err = store.Cancelled, store.ReasonCancelled, j.cancel.Reason
	case e.state != store.Available && !deadline.IsZero() && !e.runAt.Before(deadline):
		e.state, e.reason = store.Failed, store.ReasonDeadline
	}
	if e.state != store.Completed {
		j.attempts = append(j.attempts, store.Attempt{
			Number: j.Attempt, LeaseNumber: j.LeaseNumber, Node: j.lease.Node,
			ClaimedAt: j.claimedAt, StartedAt: e.startedAt, EndedAt: now,
			Outcome: e.state, Reason: e.reason, Error: e.err, Trace: e.trace,
		})
	}
	j.endedBy = j.lease
	j.lease = store.Lease{}
	switch e.state {
	case store.Completed:
		j.result = e.result
		s.finish(j, store.Completed, "", "", now)
	case store.Failed, store.Cancelled:
		s.finish(j, e.state, e.reason, e.err, now)
	case store.Scheduled, store.Available:
		j.Attempt-- // not counted
		j.RunAt = e.runAt
		s.enter(j, e.state)
	case store.Retryable:
		j.RunAt = e.runAt
		s.enter(j, store.Retryable)
	case store.Running, store.Waiting: // nobody asks for that
	}
}
