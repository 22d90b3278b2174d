package remote

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfastdev/holdfast/internal/wire"
	"github.com/holdfastdev/holdfast/store"
)

// Apply implements store.Writer.
func (s *Store) Apply(ctx context.Context, batch *store.Batch) error {
	sent, err := wire.BatchOf(batch)
	if err != nil {
		return err
	}
	var out wire.Out[wire.Applied, wire.None]
	if err := s.call(ctx, wire.Path("Apply"), with(sent), &out); err != nil {
		return err
	}
	if err := out.A.SetIn(batch); err != nil {
		return err
	}
	return out.Err
}

// Claim implements store.Claims.
func (s *Store) Claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	claimed, passed, err := askTwo[[]store.Claimed, *store.Passed](ctx, s, "Claim", with(params))
	if params.Passed != nil && passed != nil {
		*params.Passed = *passed
	}
	return claimed, err
}

// Reserve implements store.Rates. What the run remembers is said here, of what the server is
// expected to find; it takes no permit if it finds something else, and is asked again with that.
func (s *Store) Reserve(ctx context.Context, r *store.Reservation) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	r.At, r.Stopped, r.Resumed = time.Time{}, false, r.BeforeResumed // of most
	r.Append.Repeat = false
	for try := 0; ; try++ {
		r.Say(r)
		sent := *r
		sent.Say = nil
		found, done, err := askTwo[wire.Reserved, wire.AppendDone](ctx, s, "Reserve", with(sent))
		switch {
		case err != nil && done.Err == nil:
			return err
		case err == nil && found.Differs:
			r.At, r.Stopped, r.Resumed = found.At, found.Stopped, found.Resumed
			if try > 0 { // others want permits, too
				sleep(ctx, rand.N(min(time.Duration(try)*time.Millisecond, 20*time.Millisecond)))
			}
			continue
		}
		r.At, r.Stopped, r.Resumed = found.At, found.Stopped, found.Resumed
		if fits := done.SetIn(r.Append); fits != nil {
			return fits
		}
		return err
	}
}

// AwaitTx implements store.Writer. A request takes no longer than usual, and is repeated as long as
// ctx lasts.
func (s *Store) AwaitTx(ctx context.Context, job store.ID) error {
	for {
		once, cancel := context.WithTimeout(ctx, store.CallTimeout/2)
		err := s.tell(once, "AwaitTx", with(job))
		over := once.Err() != nil && ctx.Err() == nil
		cancel()
		if err == nil || !over {
			return err
		}
	}
}

// errTx is the error of what needs a transaction of the caller.
func (s *Store) errTx(what string) error {
	return fmt.Errorf("%w: %s writes into a transaction of the caller, which needs the database itself, and %s is a server: "+
		"open the database there, or do it without a transaction", store.ErrInvalid, what, s.name)
}

// EnqueueTx implements store.Writer: it is ErrInvalid.
func (s *Store) EnqueueTx(context.Context, store.Tx, []*store.Enqueue) error {
	return s.errTx("EnqueueTx")
}

// SendTx implements store.Writer: it is ErrInvalid.
func (s *Store) SendTx(context.Context, store.Tx, []*store.Send) error { return s.errTx("SendTx") }

// AppendTx implements store.Writer: it is ErrInvalid.
func (s *Store) AppendTx(context.Context, store.Tx, *store.Append) error { return s.errTx("StepTx") }

// CancelTx implements store.Callers: it is ErrInvalid.
func (s *Store) CancelTx(context.Context, store.Tx, store.CancelParams) ([]store.Result, error) {
	return nil, s.errTx("CancelTx")
}

// RetryTx implements store.Callers: it is ErrInvalid.
func (s *Store) RetryTx(context.Context, store.Tx, store.RetryParams) ([]store.Result, error) {
	return nil, s.errTx("RetryTx")
}

// FinishTx implements store.Callers: it is ErrInvalid.
func (s *Store) FinishTx(context.Context, store.Tx, store.FinishParams) ([]store.Result, error) {
	return nil, s.errTx("FinishTx")
}

// CreateBatch implements store.JobBatches. With a transaction it is ErrInvalid.
func (s *Store) CreateBatch(ctx context.Context, tx store.Tx, b store.JobBatch) error {
	if tx != nil {
		return s.errTx("a batch that is created in a transaction")
	}
	return s.tell(ctx, "CreateBatch", with(b))
}

// CloseBatch implements store.JobBatches. With a transaction it is ErrInvalid.
func (s *Store) CloseBatch(ctx context.Context, tx store.Tx, namespace string, id store.ID) error {
	if tx != nil {
		return s.errTx("a batch that is closed in a transaction")
	}
	return s.tell(ctx, "CloseBatch", with2(namespace, id))
}
