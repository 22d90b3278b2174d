package after

import (
	"context"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/store"
)

// KeepTurn lets a job with an ordering key keep the turn of the key if it fails for good, so that
// those behind it with the same key wait, until a person retries it: then it runs, and they follow;
// or skips it (Skip, or Client.Cancel), which leaves it failed and lets them follow; or deletes it.
// A job that ends otherwise gives the turn back. Client.Why of those behind names the job.
// Retention leaves it alone as long as it keeps its turn. Without the option holdfast.OrderingKey
// it is an ErrInvalid.
func KeepTurn() holdfast.EnqueueOption {
	return access.KeepTurn().(holdfast.EnqueueOption) //nolint:errcheck // always one
}

// Skip lets jobs that have failed and keep the turns of their ordering keys give these up, so that
// those behind them follow. They stay failed; who skipped them, and why, is recorded. It returns a
// result for each, in the order given: an ErrConflict for one that has not failed or keeps no turn,
// and an ErrNotFound for one that is not there.
func Skip(ctx context.Context, c *holdfast.Client, reason string, jobs ...holdfast.ID) ([]store.Result, error) {
	e, actor := access.Engine(c)
	return e.Cancel(ctx, store.CancelParams{Namespace: c.Namespace(), Jobs: jobs, Reason: reason, Actor: actor, Skip: true})
}
