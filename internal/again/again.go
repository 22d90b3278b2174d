// Package again lets jobs go on from where their journals say, or start over.
//
// # Imports
//
// Of ours, store, internal/engine and journal.
package again

import (
	"context"
	"errors"

	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
)

// Resume resumes a job: one that has finished after its last step that succeeded. What of the
// journal stays is not given.
func Resume(ctx context.Context, e *engine.Engine, params store.ResumeParams) (store.State, error) {
	record, err := e.Store.Get(ctx, params.Namespace, params.Job)
	if err != nil {
		return 0, err
	}
	params.Keep, params.Expect = -1, -1
	if record.State.Finished() {
		raw, err := journalOf(ctx, e, params)
		if err != nil {
			return record.State, err
		}
		if params.Keep, err = journal.LastSuccess(raw.Entries); err != nil {
			return record.State, store.About(params.Job, "resuming", err)
		}
		params.Expect = raw.LastSeq()
	}
	state, err := e.Resume(ctx, params)
	if errors.Is(err, store.ErrConflict) { // it is left as it is
		if record, lookErr := e.Store.Get(ctx, params.Namespace, params.Job); lookErr == nil {
			state = record.State
		}
	}
	return state, store.About(params.Job, "resuming", err)
}

// StartOver makes a job continue as new: with args, or with its own if they are nil.
func StartOver(ctx context.Context, e *engine.Engine, params store.ResumeParams, args []byte) error {
	// The journal is read first: the args belong to it, or it has moved and the job stays as it
	// is.
	raw, err := journalOf(ctx, e, params)
	if err != nil {
		return err
	}
	params.Expect = raw.LastSeq()
	next := &store.Continue{Args: args, Data: journal.Encode(journal.Next(journal.All(raw.Entries)))}
	if args == nil {
		record, err := e.Store.Get(ctx, params.Namespace, params.Job)
		if err != nil {
			return err
		}
		next.Args, next.Codec = record.Args, record.Codec
	}
	params.Continue = next
	_, err = e.Resume(ctx, params)
	return store.About(params.Job, "continuing as new", err)
}

func journalOf(ctx context.Context, e *engine.Engine, params store.ResumeParams) (store.Journal, error) {
	journals, err := e.Store.Journals(ctx, params.Namespace, []store.ID{params.Job})
	if err != nil {
		return store.Journal{}, err
	}
	return journals[0], nil
}
