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

// Stuck returns the ordering keys of a queue that a job keeps the turn of which has failed, so that
// those behind it wait: since when, which job it is, and how many wait. There may be thousands: it
// looks at up to 1,000 keys that have a job, and params.After goes on from Next of the page before;
// a page may have none although others follow. The namespace is that of the client.
func Stuck(ctx context.Context, c *holdfast.Client, params store.StuckKeysParams) (store.StuckPage, error) {
	e, _ := access.Engine(c)
	params.Namespace = c.Namespace()
	return e.Store.StuckKeys(ctx, params)
}

// Skip lets jobs that have failed and keep the turns of their ordering keys give these up, so that
// those behind them follow. They stay failed; who skipped them, and why, is recorded. It returns a
// result for each, in the order given: an ErrConflict for one that has not failed or keeps no turn,
// and an ErrNotFound for one that is not there.
func Skip(ctx context.Context, c *holdfast.Client, reason string, jobs ...holdfast.ID) ([]store.Result, error) {
	e, actor := access.Engine(c)
	return e.Cancel(ctx, store.CancelParams{Namespace: c.Namespace(), Jobs: jobs, Reason: reason, Actor: actor, Skip: true})
}
