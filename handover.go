package holdfast

import (
	"context"
	"encoding/json"
	"time"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// HandOver is returned by a handler that has handed its job over to an outside system: the job
// waits, without a slot and without using an attempt, until it is finished by Complete or Fail, of
// any process and without a node. If it is not within d, the handler is called again; if d is not
// positive, there is no limit. Give the outside system the job's id. It may finish the job before
// the handler has returned: then the error is ErrConflict, and it tries again.
func HandOver(d time.Duration) error { return &usercode.HandOverError{Limit: max(d, 0)} }

// Complete completes a job that was handed over, with its result. It is as if its handler had
// returned it: waiters and the parent get it, and the unique key and the turn of the ordering key
// are free. The error is ErrNotFound, or ErrConflict for a job of another kind, or one that is not
// handed over, or no longer, with its state; after a lost answer (ErrUnavailable) that state tells
// what became of it. A result that does not encode or is too large is an ErrInvalid.
func (k Kind[In, Out]) Complete(ctx context.Context, c *Client, id ID, out Out) error {
	end, err := k.end(c, id, out)
	return c.finish(ctx, end, err)
}

// CompleteTx is Complete in the caller's own transaction, wrapped by sqlite.Tx, postgres.Tx or
// postgres.SQLTx: the job completes if and when that commits, and its parent is told a moment
// later. A job that another open transaction keeps is an ErrBusy, and this one stays usable. See
// CancelTx.
func (k Kind[In, Out]) CompleteTx(ctx context.Context, c *Client, tx store.Tx, id ID, out Out) error {
	end, err := k.end(c, id, out)
	return c.finishTx(ctx, tx, end, err)
}

func (k Kind[In, Out]) end(c *Client, id ID, out Out) (store.End, error) {
	if k.err != nil {
		return store.End{}, k.err
	}
	result, err := c.encodeResult(out)
	if err != nil {
		return store.End{}, err
	}
	return store.End{Job: id, Kind: k.name, State: store.Completed, Result: result}, nil
}

// Complete does the same as Kind.Complete with a result that is already JSON, or nil, for programs
// that do not know its type.
func (c *Client) Complete(ctx context.Context, id ID, result json.RawMessage) error {
	end, err := c.completion(id, result)
	return c.finish(ctx, end, err)
}

// CompleteTx does the same as Kind.CompleteTx with a result that is already JSON, or nil.
func (c *Client) CompleteTx(ctx context.Context, tx store.Tx, id ID, result json.RawMessage) error {
	end, err := c.completion(id, result)
	return c.finishTx(ctx, tx, end, err)
}

func (c *Client) completion(id ID, result json.RawMessage) (store.End, error) {
	end := store.End{Job: id, State: store.Completed, Result: orNone(result)}
	if end.Result == nil {
		return end, nil
	}
	return end, checkJSON("result", end.Result, c.limit)
}

// Fail fails a job that was handed over, with err. If its handler had registered compensations
// (OnFailure), they run first, by a node that has the handler. Errors are those of Complete.
func (c *Client) Fail(ctx context.Context, id ID, err error) error {
	end, err := c.failure(ctx, id, err)
	return c.finish(ctx, end, err)
}

// FailTx is Fail in the caller's own transaction; see Kind.CompleteTx.
func (c *Client) FailTx(ctx context.Context, tx store.Tx, id ID, err error) error {
	end, err := c.failure(ctx, id, err)
	return c.finishTx(ctx, tx, end, err)
}

// failure is the end of a job that is to fail. Its kind is looked up, because failures that are
// alike are counted by kind.
func (c *Client) failure(ctx context.Context, id ID, err error) (store.End, error) {
	text, refused := usercode.Failure(err)
	if refused != nil {
		return store.End{}, invalid("error", "%v", refused)
	}
	record, err := c.Get(ctx, id)
	if err != nil {
		return store.End{}, store.About(id, "finishing", err)
	}
	data, codec := journal.Pack(journal.Encode(journal.Closing{State: store.Failed, Reason: store.ReasonTerminal, Error: text}))
	return store.End{
		Job: id, State: store.Failed, Error: text, Fingerprint: usercode.Fingerprint(record.Kind, store.ReasonTerminal, text),
		Closing: store.Entry{Path: journal.UndoPrefix, Data: data, Codec: codec},
	}, nil
}

// finish ends a job, unless err tells why it cannot.
func (c *Client) finish(ctx context.Context, end store.End, err error) error {
	if err != nil {
		return err
	}
	results, err := c.engine.Finish(ctx, c.finishing(end))
	return finished(end.Job, results, err)
}

func (c *Client) finishTx(ctx context.Context, tx store.Tx, end store.End, err error) error {
	if err == nil {
		err = c.checkTx(tx)
	}
	if err != nil {
		return err
	}
	results, err := c.engine.Store.FinishTx(ctx, tx, c.finishing(end))
	return finished(end.Job, results, err)
}

func (c *Client) finishing(end store.End) store.FinishParams {
	return store.FinishParams{Namespace: c.namespace, Ends: []store.End{end}, Actor: c.actor}
}

func finished(id ID, results []store.Result, err error) error {
	if err == nil {
		err = results[0].Err
	}
	return store.About(id, "finishing", err)
}
