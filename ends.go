package holdfast

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/holdfastdev/holdfast/store"
)

// Ended says how a job has finished.
type Ended struct {
	ID     ID
	State  store.State     // Completed, Failed or Cancelled
	Reason store.Reason    // of a job that failed or was cancelled
	Error  string          // the same
	Result json.RawMessage // of a completed job; nil if it has none
	// Codec is that of the result. 0: JSON. If a codec has encoded the result, and it could not be
	// decoded here, it is store.SealedCodec or store.DamagedCodec, and Result is not JSON.
	Codec int
}

// Err is nil if the job has completed, and a *JobError if not.
func (e *Ended) Err() error {
	if e.State == store.Completed {
		return nil
	}
	return &JobError{ID: e.ID, State: e.State, Reason: e.Reason, Message: e.Error}
}

// Wait returns when the job has finished: nil if it completed, a *JobError if it failed or was
// cancelled. If there is no such job, the error is ErrNotFound. It keeps trying while the database
// does not answer. If ctx ends first, its error is returned, and the job keeps running.
func (c *Client) Wait(ctx context.Context, id ID) error {
	_, err := c.wait(ctx, id)
	return err
}

func (c *Client) wait(ctx context.Context, id ID) (Ended, error) {
	found, err := c.engine.Wait(ctx, c.namespace, id)
	if err != nil {
		return Ended{}, waitingFor(id, err)
	}
	ended := endedOf(found)
	return ended, ended.Err()
}

// WaitAll waits until all the jobs have finished, and returns how each ended, in the order given.
// The error is a *JobError for the first in that order that did not complete, or nil. If ctx ends
// first, or one of the jobs does not exist, WaitAll returns only that error. Finished jobs take one
// query per thousand.
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

// Ends yields how each of the jobs has finished, as they finish. An id that is given twice is
// yielded twice. A job that does not exist is yielded with ErrNotFound and its id, and the others
// are still waited for. The sequence ends after the last job, or when ctx ends, with that error.
func (c *Client) Ends(ctx context.Context, ids ...ID) iter.Seq2[Ended, error] {
	return func(yield func(Ended, error) bool) {
		more, left := true, len(ids)
		err := c.engine.WaitEach(ctx, c.namespace, ids, func(found store.Ended, err error) bool {
			if err != nil {
				err = waitingFor(found.ID, err)
			}
			left--
			more = yield(endedOf(found), err)
			return more
		})
		if err != nil && more {
			yield(Ended{}, fmt.Errorf("waiting for %d of %d jobs: %w", left, len(ids), err))
		}
	}
}

func waitingFor(id ID, err error) error { return store.About(id, "waiting for", err) }

func endedOf(e store.Ended) Ended {
	return Ended{ID: e.ID, State: e.State, Reason: e.Reason, Error: e.Error, Result: e.Result, Codec: e.Codec}
}
