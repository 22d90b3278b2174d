package store

import "time"

// Outcome ends a run, fenced by its lease.
//
//	Completed  Result is kept.
//	Retryable  RunAt says when; counted. Error and Reason are recorded as an attempt.
//	Scheduled  a snooze: RunAt says when; not counted.
//	Available  a release: due at once; not counted.
//	Failed     Reason and Error are kept; counted, and recorded as an attempt.
//	Cancelled  Reason ReasonCancelled; Error holds the words of who cancelled.
//
// If a cancel was requested for the job meanwhile, Retryable, Scheduled and Available become Cancelled with the words of
// the request; Completed, Failed and Cancelled stay what they are. If the job has a deadline and RunAt is not before it,
// Retryable and Scheduled become Failed with ReasonDeadline.
type Outcome struct {
	Lease  Lease
	State  State
	Reason Reason
	Error  string // the error's text
	Trace  string // the stack of a panic or of a stuck handler
	Result []byte // of Completed, as the codec wrote it
	// RunAt of Retryable and Scheduled. If zero, it is the store's clock plus Delay.
	RunAt     time.Time
	Delay     time.Duration
	StartedAt time.Time // when the handler was called; zero if it was not

	// HasUnique and HasOrdering tell what the job carries, from Claimed, so that the store need not look.
	HasUnique   bool
	HasOrdering bool

	// Repeat says that this outcome was sent before and its answer was lost. If it was applied, Final is what it led to. If a
	// rescue or a leave ended the run, it is ErrLeaseLost. A checkpoint repeated along with the outcome of its own run is
	// ErrLeaseLost too, since it cannot be told from a stale one.
	Repeat bool

	// Final is set by the store: the state in which the job is now.
	Final State
	// Err is this outcome's own failure, ErrLeaseLost or ErrInvalid.
	Err error
}

// CheckpointWrite stores a run's progress and checkpoint, fenced by its lease. It replaces what was there.
type CheckpointWrite struct {
	Lease      Lease
	Checkpoint Checkpoint // UpdatedAt is set by the store
	Err        error      // ErrLeaseLost
}

// Batch is what one commit writes. Each operation succeeds or fails on its own (its Err); the checkpoints are written
// before the outcomes, the outcomes before the enqueues.
type Batch struct {
	Checkpoints []*CheckpointWrite
	Outcomes    []*Outcome
	Enqueues    []*Enqueue
}

// Len is the number of operations in the batch.
func (b *Batch) Len() int { return len(b.Checkpoints) + len(b.Outcomes) + len(b.Enqueues) }
