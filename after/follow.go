package after

import (
	"encoding/json"
	"fmt"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/store"
)

// Success gives a job a follow-up: a job that is enqueued with it, in one transaction, waits for
// its end, and runs if it completes. Otherwise the follow-up is cancelled, with words that say so.
//
// A follow-up has options of its own but for JobID, Unique, Key and those of this package that name
// jobs, which are an ErrInvalid; Delay and RunAt count from the enqueue, and are looked at when the
// job has ended. It may have follow-ups; store.MaxFollowUps bounds how many there are. If the job
// is not enqueued, because it exists or another one has its key, neither are its follow-ups.
func Success(item holdfast.BatchItem) holdfast.EnqueueOption {
	return follow(store.CancelIfFailed, item)
}

// Failure gives a job a follow-up that runs if the job fails for good, after its last attempt or
// without one. Otherwise it is cancelled, with words that say that it is not needed.
func Failure(item holdfast.BatchItem) holdfast.EnqueueOption { return follow(store.OnlyIfFailed, item) }

// Cancel gives a job a follow-up that runs if the job is cancelled or terminated. Otherwise it is
// cancelled, with words that say that it is not needed.
func Cancel(item holdfast.BatchItem) holdfast.EnqueueOption {
	return follow(store.OnlyIfCancelled, item)
}

// End gives a job a follow-up that runs however the job ends.
func End(item holdfast.BatchItem) holdfast.EnqueueOption { return follow(store.RunIfFailed, item) }

func follow(policy store.FailurePolicy, item holdfast.BatchItem) holdfast.EnqueueOption {
	return access.FollowUp(policy, item).(holdfast.EnqueueOption) //nolint:errcheck // always one
}

// Failed lets a job run if one that is there fails for good, or all of these do. If one of them
// ends otherwise the job is cancelled, with words that say that it is not needed.
func Failed(ids ...holdfast.ID) holdfast.EnqueueOption { return option(store.OnlyIfFailed, ids) }

// Cancelled lets a job run if one that is there is cancelled, or all of these are. If one of them
// ends otherwise the job is cancelled, with words that say that it is not needed.
func Cancelled(ids ...holdfast.ID) holdfast.EnqueueOption { return option(store.OnlyIfCancelled, ids) }

// First returns the job whose end the job of a run follows, which its enqueue had Success, Failure,
// Cancel or End for; zero if it is no follow-up.
func First(run *holdfast.Run) holdfast.ID { return access.Follows(run) }

// Outcome returns what is known of that job, its state, its error and its attempts among it. The
// error is an ErrNotFound if there is no such job, or none any more: it may be removed before the
// follow-up runs. A durable function calls it in a step, since a person may retry the job.
func Outcome(run *holdfast.Run) (store.Record, error) {
	id := First(run)
	if id == (holdfast.ID{}) {
		return store.Record{}, fmt.Errorf("%w: job %s is no follow-up", holdfast.ErrNotFound, run.ID())
	}
	return run.Client().Get(run, id)
}

// Result returns the result of that job, or a *holdfast.JobError if it did not complete. The other
// errors are those of Outcome, and an ErrInvalid if the result is not one of the type.
func Result[Out any](run *holdfast.Run) (Out, error) {
	var out Out
	r, err := Outcome(run)
	switch {
	case err != nil:
		return out, err
	case r.State != store.Completed:
		return out, &holdfast.JobError{ID: r.ID, State: r.State, Reason: r.Reason, Message: r.Error}
	case len(r.Result) == 0:
		return out, nil
	}
	if err := store.SealError(r.Result, r.ResultCodec); err != nil {
		return out, fmt.Errorf("cannot decode the result of job %s: %w", r.ID, err)
	}
	if err := json.Unmarshal(r.Result, &out); err != nil {
		return out, fmt.Errorf("%w: cannot decode the result of job %s into %T: %w", holdfast.ErrInvalid, r.ID, out, err)
	}
	return out, nil
}
