package holdfast

import (
	"context"
	"errors"
	"slices"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
)

// Cancel cancels jobs: running jobs when their handlers return, others at once. It returns a result
// for each, in the order given; the error is that of a database that did not answer. reason is for
// people, and is stored with the job; it may be "". The same applies to the other operations here.
func (c *Client) Cancel(ctx context.Context, reason string, ids ...ID) ([]store.Result, error) {
	return c.engine.Cancel(ctx, store.CancelParams{Namespace: c.namespace, Jobs: ids, Reason: reason, Actor: c.actor})
}

// Terminate ends jobs at once: handlers lose their lease, and compensations do not run. It returns
// a result for each, in the order given.
func (c *Client) Terminate(ctx context.Context, reason string, ids ...ID) ([]store.Result, error) {
	return c.engine.Cancel(ctx, store.CancelParams{Namespace: c.namespace, Jobs: ids, Reason: reason, Actor: c.actor, Terminate: true})
}

// Pause pauses jobs until Resume: jobs that are not running at once, and running durable jobs at
// their next operation. A running job that is not durable keeps running, and is paused only if it
// has to be tried again. It returns a result for each, in the order given.
func (c *Client) Pause(ctx context.Context, reason string, ids ...ID) ([]store.Result, error) {
	return c.engine.PauseJobs(ctx, store.PauseJobsParams{Namespace: c.namespace, Jobs: ids, Reason: reason, Actor: c.actor})
}

// Resume resumes paused jobs, jobs held because their code contradicts their journal, and failed or
// cancelled jobs; of those, Retry is for jobs that wait for their next attempt, too. A finished
// durable job continues after its last step that succeeded: what failed after it is removed from
// the journal. Once compensations have begun, its error is ErrConflict; fork the job instead. It
// returns a result for each, in the order given.
func (c *Client) Resume(ctx context.Context, reason string, ids ...ID) ([]store.Result, error) {
	results := make([]store.Result, len(ids))
	for i, id := range ids {
		state, err := c.resume(ctx, reason, id)
		if err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotFound) && !errors.Is(err, store.ErrBusy) {
			return nil, err
		}
		results[i] = store.Result{Job: id, State: state, Err: err}
	}
	return results, nil
}

func (c *Client) resume(ctx context.Context, reason string, id ID) (store.State, error) {
	record, err := c.Get(ctx, id)
	if err != nil {
		return 0, err
	}
	params := store.ResumeParams{Namespace: c.namespace, Job: id, Keep: -1, Expect: -1, Reason: reason, Actor: c.actor}
	if record.State.Finished() {
		raw, err := c.journal(ctx, id)
		if err != nil {
			return record.State, err
		}
		if params.Keep, err = journal.LastSuccess(raw.Entries); err != nil {
			return record.State, store.About(id, "resuming", err)
		}
		params.Expect = raw.LastSeq()
	}
	state, err := c.engine.Resume(ctx, params)
	if err != nil {
		return state, store.About(id, "resuming", err)
	}
	return state, nil
}

// Retry makes jobs run again at once. Failed and cancelled jobs begin again with the first attempt;
// jobs that wait for a retry or a run time keep their attempts. A finished durable job continues
// after its last step that succeeded, as in Resume. It returns a result for each, in the order
// given.
func (c *Client) Retry(ctx context.Context, reason string, ids ...ID) ([]store.Result, error) {
	journals, err := c.engine.Store.Journals(ctx, c.namespace, ids)
	if err != nil {
		return nil, err
	}
	var plain, durable []ID
	for i, j := range journals {
		resume := len(j.Entries) > 0
		if resume {
			resume, err = c.isFinished(ctx, ids[i])
		}
		switch {
		case err != nil:
			return nil, err
		case resume:
			durable = append(durable, ids[i])
		default:
			plain = append(plain, ids[i])
		}
	}
	results, err := c.engine.Retry(ctx, store.RetryParams{Namespace: c.namespace, Jobs: plain, Reason: reason, Actor: c.actor})
	if err != nil {
		return nil, err
	}
	resumed, err := c.Resume(ctx, reason, durable...)
	if err != nil {
		return nil, err
	}
	byID := make(map[ID]store.Result, len(ids))
	for _, r := range slices.Concat(results, resumed) {
		byID[r.Job] = r
	}
	all := make([]store.Result, len(ids))
	for i, id := range ids {
		all[i] = byID[id]
	}
	return all, nil
}

func (c *Client) isFinished(ctx context.Context, id ID) (bool, error) {
	record, err := c.Get(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return false, nil // removed meanwhile, which Retry reports
	}
	return record.State.Finished(), err
}
