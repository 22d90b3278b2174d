package holdfast

import (
	"context"
	"encoding/json"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// CancelTx is Cancel in the caller's own transaction, wrapped by sqlite.Tx, postgres.Tx or
// postgres.SQLTx: the jobs are cancelled if and when it commits. Until then it keeps the jobs, so
// that who else wants to change one of them waits or gets ErrBusy; all other jobs go on. A job that
// another open transaction keeps is an ErrBusy in its result, and the transaction stays usable; an
// error that is returned ends it. PostgreSQL needs READ COMMITTED.
//
// A running job is asked to stop after the commit.
func (c *Client) CancelTx(ctx context.Context, tx store.Tx, reason string, ids ...ID) ([]store.Result, error) {
	if err := c.checkTx(tx); err != nil {
		return nil, err
	}
	return c.engine.Store.CancelTx(ctx, tx, store.CancelParams{Namespace: c.namespace, Jobs: ids, Reason: reason, Actor: c.actor})
}

// RetryTx is Retry in the caller's own transaction; see CancelTx.
func (c *Client) RetryTx(ctx context.Context, tx store.Tx, reason string, ids ...ID) ([]store.Result, error) {
	if err := c.checkTx(tx); err != nil {
		return nil, err
	}
	return c.engine.Store.RetryTx(ctx, tx, store.RetryParams{
		Namespace: c.namespace, Jobs: ids, Reason: reason, Actor: c.actor,
		Keep: func(j store.Journal) (int64, error) {
			keep, err := journal.LastSuccess(j.Entries)
			return keep, store.About(j.Job, "resuming", err)
		},
	})
}

// CompleteTx completes the run's job in a transaction of the handler's own, wrapped by sqlite.Tx,
// postgres.Tx or postgres.SQLTx, together with what the handler writes in it. If it commits, the
// job completes with out, whatever the handler returns afterwards, and also if the process dies
// before it returns: the next attempt ends the job without calling the handler. If it is rolled
// back, the job ends as the handler says. The state becomes Completed a moment after the commit,
// when the handler has returned. A cancel that arrives in between does not change the end;
// Terminate does.
//
// It is the last operation of a run: after it only another CompleteTx or FailTx may follow, in
// another transaction, if the first was rolled back. If it was committed after all, because only
// its answer was lost, the error of the second is ErrConflict. Functions that were started with Go
// must have been awaited. The error is ErrLeaseLost if the job was given to another run: roll back
// and return. PostgreSQL needs READ COMMITTED.
//
// The code before it runs again when the run is repeated. Defer the rollback: like every operation
// of a run, CompleteTx may end the goroutine of the handler.
func (r *Run) CompleteTx(tx store.Tx, out any) error {
	result, err := r.client.encodeResult(out)
	if err != nil {
		return err
	}
	return r.endTx(replay.VerbCompleteTx, tx, journal.Ended{State: store.Completed, Result: json.RawMessage(result)})
}

// FailTx is CompleteTx for a job that fails with err, even if attempts are left. Compensations that
// the run has registered (OnFailure) run after it, as with Fail.
func (r *Run) FailTx(tx store.Tx, err error) error {
	text, refused := usercode.Failure(err)
	if refused != nil {
		return invalid("error", "%v", refused)
	}
	return r.endTx(replay.VerbFailTx, tx, journal.Ended{State: store.Failed, Reason: store.ReasonTerminal, Error: text})
}

func (r *Run) endTx(verb string, tx store.Tx, end journal.Ended) error {
	if err := r.client.checkTx(tx); err != nil {
		return err
	}
	return r.strand.EndTx(verb, tx, end)
}
