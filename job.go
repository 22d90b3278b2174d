package holdfast

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/holdfastdev/holdfast/store"
)

// ID is the id of a job: a UUIDv7, made by the client. What a store returns as it is has a type of
// package store, such as Record, State, Filter and Queue.
type ID = store.ID

// Job is the handle of a job whose result is an Out.
type Job[Out any] struct {
	ID ID
	// Existing reports that the enqueue inserted nothing: the id existed already, or this job holds
	// the unique key or the business key.
	Existing bool
	// Replaced reports that the enqueue put its args, metadata and run time on this job, which
	// existed and had not started.
	Replaced bool
	// Differs reports that this job, which holds the business key, was enqueued with other args.
	Differs bool

	client *Client
}

func jobOf[Out any](c *Client, e *store.Enqueue) *Job[Out] {
	return &Job[Out]{ID: e.Result.ID, Existing: isExisting(e), Replaced: e.Result.Replaced, Differs: e.Result.Differs, client: c}
}

// Wait returns the job's result when it has completed, or a *JobError if it failed or was
// cancelled. If the job was removed, the error is ErrNotFound. It keeps trying while the database
// does not answer. If ctx ends first, its error is returned, and the job keeps running. A result
// that was encoded with a key which this process lacks is a *store.MissingKeyError.
func (j *Job[Out]) Wait(ctx context.Context) (Out, error) {
	var out Out
	ended, err := j.client.wait(ctx, j.ID)
	if err != nil || ended.Result == nil {
		return out, err
	}
	if err := store.SealError(ended.Result, ended.Codec); err != nil {
		return out, fmt.Errorf("cannot decode the result of job %s: %w", j.ID, err)
	}
	if err := json.Unmarshal(ended.Result, &out); err != nil {
		return out, fmt.Errorf("cannot decode the result of job %s into %T: %w", j.ID, out, err)
	}
	return out, nil
}

// Get returns everything known about the job. The error is ErrNotFound if it was removed.
func (j *Job[Out]) Get(ctx context.Context) (store.Record, error) { return j.client.Get(ctx, j.ID) }

// Cancel cancels the job: at once if it is not running, otherwise by ending its handler's context.
// reason is for people; it may be "". A job that has finished stays as it is, without an error; one
// that was removed is an ErrNotFound.
func (j *Job[Out]) Cancel(ctx context.Context, reason string) error {
	results, err := j.client.Cancel(ctx, reason, j.ID)
	if err != nil {
		return err
	}
	return results[0].Err
}
