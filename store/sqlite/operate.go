package sqlite

import (
	"context"
	"errors"

	"github.com/holdfastdev/holdfast/store"
)

// Retry implements store.Operators.
func (v workVerbs) Retry(ctx context.Context, params store.RetryParams) ([]store.Result, error) {
	var results []store.Result
	err := v.d.write(ctx, "retry", func(t *tx) (err error) {
		results, err = t.eachOf(params.Namespace, params.Jobs, func(r *store.Result) error { return t.retry(r, params) })
		return err
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// retry sets the result; an error ends the transaction.
func (t *tx) retry(result *store.Result, params store.RetryParams) error {
	b, found, err := t.body(result.Job)
	if err != nil {
		return err
	}
	if !found {
		result.Err = store.NoJob(result.Job)
		return nil
	}
	f, finished, err := t.finished(result.Job)
	if err != nil {
		return err
	}
	if finished {
		if result.State = f.state; f.state == store.Completed {
			result.Err = store.JobIs(result.Job, store.Completed)
			return nil
		}
		var taken *store.UniqueError
		if err := t.reopen(b, f); errors.As(err, &taken) {
			result.Err = taken
			return nil
		} else if err != nil {
			return err
		}
	} else {
		var blocked bool
		if result.State, blocked, err = t.pointerState(b); err != nil {
			return err
		}
		switch result.State {
		case store.Available:
			return nil
		case store.Scheduled, store.Retryable:
			if err := t.deletePointer(b, result.State, blocked); err != nil {
				return err
			}
		default:
			if result.State == 0 {
				result.State = store.Running
			}
			result.Err = store.JobIs(result.Job, result.State)
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
	return t.audit(params.Actor, "retry", &result.Job, 0, params.Reason)
}

// reopen undoes the end of a job, which starts from its first attempt. What it remembers stays. It fails with a *UniqueError, before
// anything has changed, if another job has its unique key.
func (t *tx) reopen(b *body, f finished) error {
	if len(b.UniqueKey) > 0 {
		holder, taken, err := t.uniqueHolder(b.UniqueKey)
		if err != nil {
			return err
		}
		if taken && holder != b.ID {
			return &store.UniqueError{Holder: holder}
		}
		if !taken {
			if err := t.takeUnique(b.UniqueKey, b.ID); err != nil {
				return err
			}
		}
	}
	if b.Closing {
		if err := t.reopenEnd(b); err != nil {
			return err
		}
	}
	if f.lease != 0 {
		b.claimedAt = f.claimedAt
	}
	b.Attempt, b.LeaseNumber = 0, max(b.LeaseNumber, f.lease) // lease numbers never repeat
	s := t.stmt("finished_delete")
	bindID(s, b.ID)
	return exec(s)
}

// Pause implements store.Operators.
func (v workVerbs) Pause(ctx context.Context, params store.PauseParams) error {
	if err := params.Check(); err != nil {
		return err
	}
	return v.d.write(ctx, "pause queue "+params.Queue, func(t *tx) error {
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
