// Package ask sends requests to runs, and waits for their answers.
//
// # Imports
//
// Of ours, store and internal/engine.
package ask

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/store"
)

// Ask sends a request, unless there is one with its key, and returns the answer. The error is
// ErrConflict if the job ends without an answer.
func Ask(ctx context.Context, e *engine.Engine, q *store.Send) (*store.UpdateAnswer, error) {
	for {
		err := e.Send(ctx, []*store.Send{q})
		if err == nil {
			err = q.Err
		}
		if err != nil {
			return nil, store.About(q.Job, "sending to", err)
		}
		answer, err := await(ctx, e, q)
		if err == nil && answer == nil {
			err = unanswered(ctx, e, q)
		}
		switch {
		case err != nil:
			return nil, err
		case answer != nil:
			forget(ctx, e, q, answer)
			return answer, nil
		}
	}
}

// await waits for the answer to a request. Nil: there is none, since the job has ended, or the
// request is not known any more.
func await(ctx context.Context, e *engine.Engine, q *store.Send) (*store.UpdateAnswer, error) {
	var answer *store.UpdateAnswer
	err := e.Follow(ctx, q.Namespace, q.Job, func() (bool, bool, error) {
		u, err := e.Store.GetUpdate(ctx, q.Namespace, q.Job, q.Key)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return true, true, nil
		case err != nil:
			return false, false, err
		case u.Name != q.Message.Name:
			return false, false, fmt.Errorf("%w: the id %q of job %s is that of a request to update %q, not %q",
				store.ErrConflict, q.Key, q.Job, u.Name, q.Message.Name)
		}
		answer = u.Answer
		return answer != nil, answer != nil, nil
	})
	if err != nil {
		return nil, store.About(q.Job, "waiting for the answer to update "+q.Message.Name+" of", err)
	}
	return answer, nil
}

// unanswered is the error of a request that its job has not answered, or nil if that may handle it
// still: it was let run again, or the request was refused to another caller with the same id.
func unanswered(ctx context.Context, e *engine.Engine, q *store.Send) error {
	record, err := e.Store.Get(ctx, q.Namespace, q.Job)
	if err != nil || !record.State.Finished() {
		return err
	}
	how := ""
	if record.Error != "" {
		how = ": " + record.Error
	}
	return fmt.Errorf("%w, and has not answered this request to update %q%s", store.JobIs(q.Job, record.State), q.Message.Name, how)
}

// forget removes a request that was refused, which need not be known any longer.
func forget(ctx context.Context, e *engine.Engine, q *store.Send, a *store.UpdateAnswer) {
	if a.Verdict != store.UpdateRefused {
		return
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), store.CallTimeout)
	defer cancel()
	_ = e.Store.ForgetUpdate(call, q.Namespace, q.Job, q.Key) // it goes by itself later
}
