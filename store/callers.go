package store

import (
	"context"
	"fmt"
	"math"
)

// Callers is what callers do to jobs in transactions of their own, beside what Writer has, and what
// outside systems do to jobs that were handed over to them.
//
// What is done in a transaction happens if and when that commits. Until then it keeps the jobs: who
// needs one of them waits or is told ErrBusy, as with SendTx. It keeps nothing else that others
// need, and waits for nothing itself: a job that another transaction has is ErrBusy in its result,
// which leaves the transaction usable; an error that is returned does not. Nodes and waiters hear
// of it when it commits, and the parent of a job that was ended a moment later (CloseChildren).
// (SQLite has one writer, for whom all wait; there the parent is told at once.)
type Callers interface {
	// CancelTx is Cancel in the caller's transaction. Terminate is ErrInvalid: it would keep a
	// node from writing. A running job is told when the transaction has committed, and may have
	// ended by then.
	CancelTx(ctx context.Context, tx Tx, params CancelParams) ([]Result, error)
	// RetryTx is Retry in the caller's transaction.
	RetryTx(ctx context.Context, tx Tx, params RetryParams) ([]Result, error)
	// Finish ends jobs whose runs have handed them over (Wait.HandedOver), in one transaction, and
	// records who did. It answers for each in the order given.
	Finish(ctx context.Context, params FinishParams) ([]Result, []Wake, error)
	// FinishTx is Finish in the caller's transaction.
	FinishTx(ctx context.Context, tx Tx, params FinishParams) ([]Result, error)
}

// FinishParams ends jobs from outside.
type FinishParams struct {
	Namespace string // of the jobs; "": any
	Ends      []End
	Actor     string
}

// Results returns a result for each end, with the error of those that are refused whatever the
// database says.
func (p *FinishParams) Results() []Result {
	results, seen := make([]Result, len(p.Ends)), make(map[ID]bool, len(p.Ends))
	for i := range p.Ends {
		e, r := &p.Ends[i], &results[i]
		if r.Job, r.Err = e.Job, e.Check(); r.Err == nil && seen[e.Job] {
			r.Err = fmt.Errorf("%w: job %s is to be finished twice", ErrInvalid, e.Job)
		}
		seen[e.Job] = true
	}
	return results
}

// End is how a job ends that was handed over. In the result State is that of End, or Available of
// one that is to compensate first: see Closing. Err is ErrNotFound, ErrBusy, ErrInvalid, or
// ErrConflict with the state of a job that is not handed over, or with its kind.
type End struct {
	Job    ID
	Kind   string // that the job has to be of; "": any
	State  State  // Completed or Failed
	Result []byte // of Completed, as its codec wrote it
	Codec  int    // of the result; 0: JSON
	// Error, of Failed, is its text; the reason is ReasonTerminal.
	Error       string
	Fingerprint int64 // see Outcome
	// Closing, of Failed, is the entry that is added to the journal of a job whose run has left
	// compensations (Wait.Compensates): its Path, Data and Codec; it is an EntryClosing. Such a job
	// is closing from then on, and Available, so that its next run compensates and then ends it.
	Closing Entry
}

// Check reports why no store ends a job like this, an ErrInvalid.
func (e *End) Check() error {
	switch {
	case e.State != Completed && e.State != Failed:
		return fmt.Errorf("%w: job %s: it cannot be finished as %s", ErrInvalid, e.Job, e.State)
	case e.Codec < 0 || e.Codec > math.MaxInt32:
		return fmt.Errorf("%w: job %s: codec %d is out of range", ErrInvalid, e.Job, e.Codec)
	}
	return nil
}

// Action is the kind of the action that is recorded.
func (e *End) Action() ActionKind {
	if e.State == Completed {
		return ActionComplete
	}
	return ActionFail
}

// CheckTx reports why jobs cannot be cancelled like this in a transaction, an ErrInvalid.
func (p *CancelParams) CheckTx() error {
	if p.Terminate {
		return fmt.Errorf("%w: jobs cannot be terminated in the caller's transaction", ErrInvalid)
	}
	return nil
}
