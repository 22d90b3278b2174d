package holdfast

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/holdfastdev/holdfast/internal/again"
	"github.com/holdfastdev/holdfast/store"
)

// Cancel cancels jobs: running jobs when their handlers return, others at once, and durable ones
// when their next run has compensated. It returns a result for each, in the order given, with the
// job's state; its Err is ErrNotFound if there is no such job. A job that has finished stays as it
// is, without an error. The error of Cancel itself is that of a database that did not answer.
// reason is for people, and is stored with the job; it may be "". The same applies to the other
// operations here.
func (c *Client) Cancel(ctx context.Context, reason string, ids ...ID) ([]store.Result, error) {
	return c.engine.Cancel(ctx, store.CancelParams{Namespace: c.namespace, Jobs: ids, Reason: reason, Actor: c.actor})
}

// Terminate ends jobs at once: handlers lose their lease, and compensations do not run. It returns
// a result for each, in the order given, as Cancel does; ErrBusy is a job that an open transaction
// of a caller holds.
func (c *Client) Terminate(ctx context.Context, reason string, ids ...ID) ([]store.Result, error) {
	return c.engine.Cancel(ctx, store.CancelParams{Namespace: c.namespace, Jobs: ids, Reason: reason, Actor: c.actor, Terminate: true})
}

// Pause pauses jobs until Resume: jobs that are not running at once, and running durable jobs at
// their next operation. A running job that is not durable keeps running, and is paused only if it
// has to be tried again. It returns a result for each, in the order given, whose Err is ErrNotFound
// or, for a job that has finished, ErrConflict.
func (c *Client) Pause(ctx context.Context, reason string, ids ...ID) ([]store.Result, error) {
	return c.engine.PauseJobs(ctx, store.PauseJobsParams{Namespace: c.namespace, Jobs: ids, Reason: reason, Actor: c.actor})
}

// Resume resumes paused jobs, jobs held because their code contradicts their journal, and failed or
// cancelled jobs; of those, Retry is for jobs that wait for their next attempt, too. A finished
// durable job continues after its last step that succeeded: what failed after it is removed from
// the journal. Once compensations have begun, its error is ErrConflict; fork the job instead. It
// returns a result for each, in the order given, whose Err is ErrNotFound, ErrBusy, or ErrConflict
// for a job that is in none of these states, or whose key another job holds (*store.UniqueError).
func (c *Client) Resume(ctx context.Context, reason string, ids ...ID) ([]store.Result, error) {
	results := make([]store.Result, len(ids))
	for i, id := range ids {
		state, err := again.Resume(ctx, c.engine, c.resumption(id, reason))
		if err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrBusy) {
			return nil, err
		}
		results[i] = store.Result{Job: id, State: state, Err: err}
	}
	return results, nil
}

func (c *Client) resumption(id ID, reason string) store.ResumeParams {
	return store.ResumeParams{Namespace: c.namespace, Job: id, Reason: reason, Actor: c.actor}
}

// Retry makes jobs run again at once. Failed and cancelled jobs begin again with the first attempt;
// jobs that wait for a retry or a run time keep their attempts. A finished durable job continues
// after its last step that succeeded, as in Resume. It returns a result for each, in the order
// given, whose Err is ErrNotFound, ErrBusy, or ErrConflict for a job that runs, waits or has
// completed, or whose key another job holds (*store.UniqueError).
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

// ContinueAsNew lets a job start over that does not run, as if its handler had returned
// Kind.ContinueAsNew: with these args, which are JSON, or with its own if they are nil, and with an
// empty journal. The job may wait, for a person or for anything else, or have failed or been
// cancelled. Children, published values and streams stay, as do signals that were not received and
// requests that were not answered, but for those to a finished job: one that the old journal had
// accepted is handled again. Compensations do not run.
//
// The errors are ErrInvalid for args that an enqueue would refuse, ErrNotFound, and ErrConflict if
// the job is in another state, or is ending, since its compensations would not run any more. Pause
// a job first that waits for its next attempt.
func (c *Client) ContinueAsNew(ctx context.Context, reason string, id ID, args json.RawMessage) error {
	if args != nil {
		if err := checkJSON("args", args, c.limit); err != nil {
			return err
		}
	}
	return again.StartOver(ctx, c.engine, c.resumption(id, reason), args)
}

func (c *Client) isFinished(ctx context.Context, id ID) (bool, error) {
	record, err := c.Get(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return false, nil // removed meanwhile, which Retry reports
	}
	return record.State.Finished(), err
}
