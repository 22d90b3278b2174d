// Package after lets jobs wait for other jobs, and follow their ends.
//
//	load, err := Load.Enqueue(ctx, hf, in)
//	report, err := Report.Enqueue(ctx, hf, args, after.Completed(load.ID))
//
// A job that comes after others is Waiting until all of them have finished, however many attempts
// that takes. Then it is available, or, if its run time has not come, scheduled.
//
//	Completed        it is cancelled if one of them fails or is cancelled
//	Finished         it runs then as well
//	CompletedOrHeld  it waits then until a person retries that one, or resumes this one
//	Add              the same for a job that is enqueued already and has not started
//	Failed           it runs only if they fail; Cancelled: only if they are cancelled
//
// Follow-ups are enqueued with the job that they follow, in one transaction:
//
//	job, err := Charge.Enqueue(ctx, hf, order,
//		after.Success(Ship.Item(order)), after.Failure(Alert.Item("no money")), after.Cancel(Restock.Item(order)))
//
// Of these one runs. Its handler finds out about the first job by First, Outcome and Result.
//
// KeepTurn lets a job that fails keep the turn of its ordering key, so that those behind it wait
// until it is retried or skipped (Skip).
//
// Options may be combined: each adds jobs. The predecessors are of the same namespace, and exist:
// they were enqueued before, or earlier in the same batch, or earlier in the same transaction of
// the caller. A job waits for at most store.MaxDependencies at one time. It is no option of
// children, of schedules, or of edits.
//
// # What it promises
//
// An end of a predecessor is told once it is durable, be it by its run, a person, an
// outside system, the rescue of its node. It is told within a second, mostly at once, by the node
// that leads. An end that was told stays so: a predecessor that a person retries afterwards is not
// waited for again. What finishes a job that nothing comes after does no more than without this
// package.
//
// # How it fails
//
// By a *store.DependencyError, which says which job: an ErrNotFound for a predecessor that is not
// there, an ErrInvalid for a cycle and for too many. Nothing is enqueued then, or changed.
//
// # Imports
//
// Of ours, the root package, store and internal/access.
package after

import (
	"context"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/store"
)

// Completed lets a job run once these jobs have completed. If one of them fails for good, or is
// cancelled, the job is cancelled, with words that name that one; and so are those after it.
func Completed(ids ...holdfast.ID) holdfast.EnqueueOption {
	return option(store.CancelIfFailed, ids)
}

// Finished lets a job run once these jobs have finished, whether they completed or not.
func Finished(ids ...holdfast.ID) holdfast.EnqueueOption { return option(store.RunIfFailed, ids) }

// CompletedOrHeld lets a job run once these jobs have completed. If one of them fails for good, or
// is cancelled, the job keeps waiting, for a person: who retries that one, so that it may
// complete; or resumes this one, which lets it run whatever it waits for; or cancels it.
// Client.Why says so.
func CompletedOrHeld(ids ...holdfast.ID) holdfast.EnqueueOption {
	return option(store.HoldIfFailed, ids)
}

func option(policy store.FailurePolicy, ids []holdfast.ID) holdfast.EnqueueOption {
	return access.After(dependencies(policy, ids)).(holdfast.EnqueueOption) //nolint:errcheck // always one
}

func dependencies(policy store.FailurePolicy, ids []holdfast.ID) []store.Dependency {
	list := make([]store.Dependency, len(ids))
	for i, id := range ids {
		list[i] = store.Dependency{On: id, IfFailed: policy}
	}
	return list
}

// Add lets a job that has not started come after others, too. It returns the job's state then:
// Waiting, unless those jobs have finished and let it go on. One that it waits for already gets the
// policy that is given now, also if that one has ended and the job waits for a person: the node
// that leads lets it go on then, or cancels it. The error is an ErrNotFound or ErrInvalid as above,
// an ErrNotFound if the job itself is not there, an ErrInvalid if it is a child, for which its
// parent may wait, an ErrConflict if it has started or finished, or an ErrBusy while an open
// transaction of a caller holds it.
func Add(ctx context.Context, c *holdfast.Client, job holdfast.ID, policy store.FailurePolicy, on ...holdfast.ID) (store.State, error) {
	e, _ := access.Engine(c)
	return e.Depend(ctx, store.DependParams{Namespace: c.Namespace(), Job: job, On: dependencies(policy, on)})
}
