package work

import (
	"context"
	"errors"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/batches"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/keys"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/updates"
)

// Retry implements store.Operators.
func (v Verbs) Retry(ctx context.Context, params store.RetryParams) ([]store.Result, []store.Wake, error) {
	var results []store.Result
	wakes, err := v.d.Move(ctx, "retry", nil, func(t *core.Tx) (err error) {
		results, err = t.EachOf(params.Namespace, params.Jobs, func(r *store.Result) error { return retry(t, r, params) })
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return results, wakes, nil
}

// retry sets the result; an error ends the transaction.
func retry(t *core.Tx, result *store.Result, params store.RetryParams) error {
	b, found, err := t.Body(result.Job)
	if err != nil {
		return err
	}
	if !found {
		result.Err = store.NoJob(result.Job)
		return nil
	}
	f, finished, err := t.Finished(result.Job)
	if err != nil {
		return err
	}
	if params.Failed && f.State != store.Failed {
		if result.State = f.State; !finished {
			if result.State, _, err = t.PointerState(b); err == nil && result.State == 0 {
				result.State = store.Running
			}
		}
		result.Err = store.JobIs(result.Job, result.State)
		return err
	}
	was := f.State
	if finished {
		result.State = f.State
		if result.Err, err = retryFinished(t, b, f, params.Keep); result.Err != nil || err != nil {
			return err
		}
	} else {
		var blocked bool
		if result.State, blocked, err = t.PointerState(b); err != nil {
			return err
		}
		switch was = result.State; was {
		case store.Available:
			return nil
		case store.Scheduled, store.Retryable:
			if err := t.DeletePointer(b, result.State, blocked); err != nil {
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
	if err := t.PutBack(b, t.Now); err != nil {
		return err
	}
	if err := t.MakeAvailable(b.Pointer()); err != nil {
		return err
	}
	result.State = store.Available
	return core.AuditJob(t, result.Job, audited.Retried(params.Actor, params.Reason, was))
}

// retryFinished undoes the end of a job that is to run again, or tells why it is not.
func retryFinished(t *core.Tx, b *core.Body, f core.Finished, keep func(store.Journal) (int64, error)) (refused, err error) {
	if f.State == store.Completed {
		return store.JobIs(b.ID, f.State), nil
	}
	last, refused, err := kept(t, b.ID, keep)
	if refused != nil || err != nil {
		return refused, err
	}
	var taken *store.UniqueError
	if err := reopen(t, b, f); errors.As(err, &taken) {
		return taken, nil
	} else if err != nil {
		return nil, err
	}
	if last < 0 {
		return nil, nil
	}
	return nil, trim(t, b.ID, last)
}

// kept returns how much of the journal of a finished job stays; -1: all, as of one that has none.
func kept(t *core.Tx, id store.ID, keep func(store.Journal) (int64, error)) (last int64, refused, err error) {
	if keep == nil {
		return -1, nil, nil
	}
	entries, err := journalOf(t, id)
	if err != nil || len(entries) == 0 {
		return -1, nil, err
	}
	last, refused = keep(store.Journal{Job: id, Entries: entries})
	return last, refused, nil
}

// reopen undoes the end of a job, which starts from its first attempt. What it remembers stays, but
// for the requests that were open: their callers were told that they are not handled. It fails with
// a *UniqueError, before anything has changed, if another job has its key.
func reopen(t *core.Tx, b *core.Body, f core.Finished) error {
	if len(b.UniqueKey) > 0 {
		holder, taken, err := keys.UniqueHolder(t, b.UniqueKey)
		if err != nil {
			return err
		}
		if taken && holder != b.ID {
			return &store.UniqueError{Holder: holder}
		}
		if !taken {
			if err := keys.TakeUnique(t, b.UniqueKey, b.ID); err != nil {
				return err
			}
		}
	}
	if err := keys.TakeAgain(t, &b.Job); err != nil {
		return err
	}
	if err := updates.ForgetOpen(t, b.ID); err != nil {
		return err
	}
	if err := batches.Retried(t, &b.Job, f.State); err != nil {
		return err
	}
	if b.Closing {
		if err := t.ReopenEnd(b); err != nil {
			return err
		}
	}
	if f.Lease != 0 {
		b.ClaimedAt = f.ClaimedAt
	}
	b.Attempt, b.LeaseNumber = 0, max(b.LeaseNumber, f.Lease) // lease numbers never repeat
	s := t.Stmt("finished_delete")
	db.BindID(s, b.ID)
	return db.Exec(s)
}

// Pause implements store.Queues.
func (v Verbs) Pause(ctx context.Context, params store.PauseParams) error {
	if err := params.Check(); err != nil {
		return err
	}
	return v.d.Write(ctx, "pause queue "+params.Queue, func(t *core.Tx) error {
		queue, err := t.Queue(params.Namespace, params.Queue)
		if err != nil {
			return err
		}
		st := t.Stmt("queue_resume")
		if params.Paused {
			st = t.Stmt("queue_pause")
			st.BindInt(t.Now)
			st.BindText(params.Actor)
		}
		st.BindInt(queue)
		changed, err := st.Exec()
		if err != nil || changed == 0 {
			return err
		}
		if !params.Paused { // its jobs may wait at gates that are free
			if err := t.WantGates(); err != nil {
				return err
			}
		}
		return core.AuditChange(t, queue, audited.QueuePaused(&params))
	})
}
