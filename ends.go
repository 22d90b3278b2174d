package holdfast

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/holdfastdev/holdfast/store"
)

// Ended is how a job has finished.
type Ended struct {
	ID     ID
	State  State           // Completed, Failed or Cancelled
	Reason Reason          // of a job that failed or was cancelled
	Error  string          // the same
	Result json.RawMessage // of a completed job; nil if it has none
}

// Err is nil if the job has completed, and a *JobError if not.
func (e *Ended) Err() error {
	if e.State == Completed {
		return nil
	}
	return &JobError{ID: e.ID, State: e.State, Reason: e.Reason, Message: e.Error}
}

// Wait returns when the job has finished: nil if it completed, a *JobError if it failed or was cancelled. A job that is not there is
// ErrNotFound. When ctx ends first the job goes on.
func (c *Client) Wait(ctx context.Context, id ID) error {
	_, err := c.wait(ctx, id)
	return err
}

func (c *Client) wait(ctx context.Context, id ID) (Ended, error) {
	found, err := c.engine.Wait(ctx, id)
	if err != nil {
		return Ended{}, waitingFor(id, err)
	}
	ended := endedOf(found)
	return ended, ended.Err()
}

// WaitAll returns when all of the jobs have finished, and how each has, in the order given. The error is that of the first in that
// order which did not complete, a *JobError, or nil if all have. Where ctx ends first, or a job is not there, it is that error alone.
// Five thousand jobs that have finished take one query for each thousand of them.
func (c *Client) WaitAll(ctx context.Context, ids ...ID) ([]Ended, error) {
	byID := make(map[ID]Ended, len(ids))
	for ended, err := range c.Ends(ctx, ids...) {
		if err != nil {
			return nil, err
		}
		byID[ended.ID] = ended
	}
	all := make([]Ended, len(ids))
	var failed error
	for i, id := range ids {
		all[i] = byID[id]
		if failed == nil {
			failed = all[i].Err()
		}
	}
	return all, failed
}

// Ends yields how each of the jobs has finished, as they finish; one that is given twice comes twice. A job that is not there comes with
// ErrNotFound and its id, and the others go on. It ends after the last one, or when ctx ends, with that error.
func (c *Client) Ends(ctx context.Context, ids ...ID) iter.Seq2[Ended, error] {
	return func(yield func(Ended, error) bool) {
		more := true
		err := c.engine.WaitEach(ctx, ids, func(found store.Ended, err error) bool {
			if err != nil {
				err = waitingFor(found.ID, err)
			}
			more = yield(endedOf(found), err)
			return more
		})
		if err != nil && more {
			yield(Ended{}, fmt.Errorf("waiting for %d jobs: %w", len(ids), err))
		}
	}
}

func waitingFor(id ID, err error) error { return store.About(id, "waiting for", err) }

func endedOf(e store.Ended) Ended {
	return Ended{ID: e.ID, State: e.State, Reason: e.Reason, Error: e.Error, Result: e.Result}
}
