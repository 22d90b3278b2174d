package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// Cancel implements store.Operators.
func (s *Store) Cancel(ctx context.Context, params store.CancelParams) ([]store.CancelResult, error) {
	var results []store.CancelResult
	err := s.write(ctx, "cancel", func(t *tx) error {
		results = make([]store.CancelResult, len(params.Jobs))
		for i, id := range params.Jobs {
			state, err := t.cancel(id, params)
			if err != nil {
				return err
			}
			results[i] = store.CancelResult{Job: id, State: state}
			if state == 0 {
				results[i].Err = fmt.Errorf("job %v: %w", id, store.ErrNotFound)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// cancel returns the state of the job then, or 0 if there is none.
func (t *tx) cancel(id store.ID, params store.CancelParams) (store.State, error) {
	b, found, err := t.body(id)
	if err != nil || !found {
		return 0, err
	}
	if f, finished, err := t.finished(id); finished || err != nil {
		return f.state, err
	}
	waited, err := t.removePointer(b)
	if err != nil {
		return 0, err
	}
	if waited != 0 {
		if err := t.audit(params.Actor, "cancel", &id, 0, params.Reason); err != nil {
			return 0, err
		}
		return store.Cancelled, t.finishWaiting(b, params.Reason)
	}
	s := t.stmt("cancel_request_put")
	bindID(s, id)
	s.bindInt(t.now)
	bindOptText(s, params.Reason)
	bindOptText(s, params.Actor)
	asked, err := s.exec()
	if err != nil || asked == 0 { // the first request stands
		return store.Running, err
	}
	return store.Running, t.audit(params.Actor, "cancel", &id, 0, params.Reason)
}

// finishWaiting ends a job that does not run, and whose pointer is gone, as cancelled.
func (t *tx) finishWaiting(b *body, reason string) error {
	if err := t.enter(&b.Job, store.Cancelled); err != nil {
		return err
	}
	e := ending{state: store.Cancelled, reason: store.ReasonCancelled, err: reason}
	if err := t.insertFinished(b.ID, e, nil, 0); err != nil {
		return err
	}
	return t.releaseTurn(b)
}

func (t *tx) cancelRequest(id store.ID) (request store.CancelRequest, found bool, err error) {
	s := t.stmt("cancel_request")
	bindID(s, id)
	found, err = s.next()
	if found {
		request = store.CancelRequest{Job: id, At: readTime(s), Reason: readOptText(s), Actor: readOptText(s)}
		s.done()
	}
	return request, found, err
}

func (t *tx) cancelRequests() ([]store.CancelRequest, error) {
	var requests []store.CancelRequest
	s := t.stmt("cancel_requests")
	return requests, each(s, func() error {
		requests = append(requests, store.CancelRequest{
			Job: readID(s), At: readTime(s), Reason: readOptText(s), Actor: readOptText(s),
		})
		return nil
	})
}

func (t *tx) deleteCancelRequest(id store.ID) error {
	s := t.stmt("cancel_request_delete")
	bindID(s, id)
	return exec(s)
}

// SweepCancels implements store.Maintenance. The transition that ends a run without success looks for requests itself; what is left here
// are requests of jobs that completed all the same.
func (s *Store) SweepCancels(ctx context.Context) (int, error) {
	applied := 0
	err := s.writeIf(ctx, "sweep cancels",
		func(t *tx) (bool, error) {
			requests, err := t.cancelRequests()
			if err != nil || len(requests) == 0 {
				return false, err
			}
			runs, err := t.runningJobs()
			return slices.ContainsFunc(requests, func(r store.CancelRequest) bool { _, ok := runs[r.Job]; return !ok }), err
		},
		func(t *tx) error {
			applied = 0
			requests, err := t.cancelRequests()
			if err != nil {
				return err
			}
			for _, request := range requests {
				done, err := t.sweepCancel(request)
				if err != nil {
					return err
				}
				if done {
					applied++
				}
			}
			return nil
		})
	return applied, err
}

func (t *tx) sweepCancel(request store.CancelRequest) (applied bool, err error) {
	b, found, err := t.body(request.Job)
	if err != nil {
		return false, err
	}
	_, finished, err := t.finished(request.Job)
	if err != nil {
		return false, err
	}
	if found && !finished {
		waited, err := t.removePointer(b)
		if err != nil || waited == 0 { // it runs, and its node is told
			return false, err
		}
		if err := t.finishWaiting(b, request.Reason); err != nil {
			return false, err
		}
		applied = true
	}
	return applied, t.deleteCancelRequest(request.Job)
}

// Retry implements store.Operators.
func (s *Store) Retry(ctx context.Context, params store.RetryParams) ([]store.RetryResult, error) {
	var results []store.RetryResult
	err := s.write(ctx, "retry", func(t *tx) error {
		results = make([]store.RetryResult, len(params.Jobs))
		for i, id := range params.Jobs {
			results[i].Job = id
			if err := t.retry(&results[i], params.Actor); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// retry sets the result; an error ends the transaction.
func (t *tx) retry(result *store.RetryResult, actor string) error {
	b, found, err := t.body(result.Job)
	if err != nil {
		return err
	}
	if !found {
		result.Err = fmt.Errorf("job %v: %w", result.Job, store.ErrNotFound)
		return nil
	}
	f, finished, err := t.finished(result.Job)
	if err != nil {
		return err
	}
	if finished {
		if result.State = f.state; f.state == store.Completed {
			result.Err = fmt.Errorf("job %v is completed: %w", result.Job, store.ErrConflict)
			return nil
		}
		if again, err := t.reopen(b, f, result); !again || err != nil {
			return err
		}
	} else {
		if result.State, _, err = t.waiting(b); err != nil {
			return err
		}
		switch result.State {
		case store.Available:
			return nil
		case store.Scheduled, store.Retryable:
			if _, err := t.removePointer(b); err != nil {
				return err
			}
		default:
			if result.State == 0 {
				result.State = store.Running
			}
			result.Err = fmt.Errorf("job %v is %v: %w", result.Job, result.State, store.ErrConflict)
			return nil
		}
	}
	if err := t.putBack(b, t.now); err != nil {
		return err
	}
	if err := t.makeAvailable(b.pointer()); err != nil {
		return err
	}
	result.State = store.Available
	return t.audit(actor, "retry", &result.Job, 0, "")
}

// reopen undoes the end of a job, which starts from its first attempt. It is refused if another job has its unique key.
func (t *tx) reopen(b *body, f finished, result *store.RetryResult) (bool, error) {
	if len(b.UniqueKey) > 0 {
		holder, taken, err := t.uniqueHolder(b.UniqueKey)
		if err != nil {
			return false, err
		}
		if taken && holder != b.ID {
			result.Err = &store.UniqueError{Holder: holder}
			return false, nil
		}
		if !taken {
			if err := t.takeUnique(b.UniqueKey, b.ID); err != nil {
				return false, err
			}
		}
	}
	s := t.stmt("finished_delete")
	bindID(s, b.ID)
	b.Attempt, b.LeaseNumber = 0, max(b.LeaseNumber, f.lease) // lease numbers never repeat
	return true, exec(s)
}

// Pause implements store.Operators.
func (s *Store) Pause(ctx context.Context, params store.PauseParams) error {
	if params.Queue == "" || !isText(params.Queue) || !isText(params.Namespace) {
		return classify("pause", fmt.Errorf("%w: the name of the queue", store.ErrInvalid))
	}
	return s.write(ctx, "pause", func(t *tx) error {
		queue, err := t.queue(params.Namespace, params.Queue)
		if err != nil {
			return err
		}
		action := "resume"
		st := t.stmt("queue_resume")
		if params.Paused {
			action = "pause"
			st = t.stmt("queue_pause")
			st.bindInt(t.now)
			st.bindText(params.Actor)
		}
		st.bindInt(queue)
		changed, err := st.exec()
		if err != nil || changed == 0 {
			return err
		}
		return t.audit(params.Actor, action, nil, queue, "")
	})
}

// audit records what a person did.
func (t *tx) audit(actor, action string, job *store.ID, queue int64, detail string) error {
	s := t.stmt("audit_insert")
	s.bindInt(t.now)
	s.bindText(actor)
	s.bindText(action)
	if job != nil {
		bindID(s, *job)
	} else {
		s.bindNull()
	}
	if queue != 0 {
		s.bindInt(queue)
	} else {
		s.bindNull()
	}
	bindOptText(s, detail)
	return exec(s)
}
