package store

import (
	"fmt"
	"time"
)

// OnConflict says what an enqueue does when its unique key is taken.
type OnConflict uint8

const (
	// ReturnExisting makes the enqueue succeed with the id of the job that holds the key.
	ReturnExisting OnConflict = iota
	// Reject makes the enqueue fail with a *UniqueError.
	Reject
	// Replace puts the new args, codec, metadata and run time on the job that holds the key if it
	// is of the same kind and has not started (never claimed: a job that snoozed or was released
	// has started); otherwise it behaves as ReturnExisting. Of search attributes it sets those that
	// the enqueue has.
	Replace
)

// Enqueue is one job to be inserted, and what became of it.
type Enqueue struct {
	// Job is the body. The store reads ID, Namespace, Queue, Kind, Priority, Args, Codec, RunAt,
	// MaxAttempts, Options, Tags, Metadata, Attributes, OrderingKey, UniqueKey, UniqueStates,
	// Parent, Answers, OnParentClose and Batch, which the caller has validated and completed. A
	// zero RunAt means now. UniqueStates contains at least Scheduled, Available; whether a job that
	// waits holds its key is told by Running: parking and waking change nothing about it.
	Job        Job
	OnConflict OnConflict

	// MaxDelay, when positive, bounds the run time that a job gets by Replace: it is no later than
	// this after the job was created, however often its run time is replaced. It says nothing of a
	// job that is inserted.
	MaxDelay time.Duration

	// KnownID tells that the caller chose the id, so that the job may exist, or another transaction
	// may be inserting it.
	KnownID bool

	// Start asks for the job to run at once, as the batch's Start says.
	Start bool

	// Delay, when positive and RunAt is zero, makes RunAt the store's clock plus Delay.
	Delay time.Duration

	// After are the jobs that have to finish first, of the same namespace, none of them a later
	// one of the batch, at most MaxDependencies. While one of them has not, or has failed or was
	// cancelled and its IfFailed says so, the job is Waiting, held with ReasonDependency; a person
	// may resume it. CloseChildren lets it go on, or cancels it. A missing one is a
	// *DependencyError, and so are too many; then nothing is enqueued. An enqueue that finds its
	// job, or the holder of its key, adds no dependencies. A child has none.
	After []Dependency
	// FollowUps are jobs that come after this one and are enqueued with it: all of them in the
	// transaction that inserts it, or, if it inserts nothing, none. They have no keys and no ids of
	// the caller's, and nothing but this job in After; they may have follow-ups. At most
	// MaxFollowUps. Their Result is set if they were inserted; of the first that cannot be, the Err
	// is that of this enqueue. A child has none.
	FollowUps []*Enqueue
	// HasSuccessors is set by the store if a later enqueue of the batch comes after this one, or a
	// follow-up.
	HasSuccessors bool

	// Send, if set, is a signal that is sent in the same transaction to the job that the enqueue
	// results in: the new one, or the one that holds its business key, which it needs to have. The
	// store sets Send.Job and Send.Result; Send.Err is not used: if the signal cannot be sent
	// nothing is enqueued, and Err says why. If the holder of the key has finished, and keeps it,
	// that is ErrConflict.
	//
	// An enqueue with a Send that is repeated within SentKept is recognised by its id, also if the
	// signal went to a job that has finished since: the answer is that of the first one, and the
	// signal a duplicate.
	Send *Send

	// Required makes the enqueue refuse its batch if it has an Err, so that all happens or nothing;
	// see Unit.
	Required bool

	// Result is set by the store when the transaction has committed (or, in the caller's
	// transaction, when the statements have run).
	Result EnqueueResult
	// Err is this enqueue's own failure: a *UniqueError, a *DependencyError, a *BatchClosedError,
	// ErrConflict, ErrInvalid or ErrBusy. Unless it is Required the others of the batch are not
	// affected.
	Err error
}

// EnqueueResult tells what an enqueue did.
type EnqueueResult struct {
	ID       ID        // the job's id, or that of the job that holds the unique key or the business key
	State    State     // Available, Scheduled or Waiting if it was inserted; 0 otherwise
	Existing bool      // nothing was inserted: the id was known already, or the key was taken
	Replaced bool      // Existing, and the holder's args and run time were replaced
	RunAt    time.Time // of a job that existed before: as the store knows it, or zero
	// Differs: another job holds the business key, which was enqueued with other args than these.
	Differs bool
}

// UniqueError is returned when a unique key is taken and the enqueue asked for Reject, or when an
// operator's retry would need a key that another job holds. It is an ErrConflict.
type UniqueError struct {
	Holder ID     // the job that holds the key
	Key    string // the business key; "": it is about a unique key
}

func (e *UniqueError) Error() string {
	if e.Key != "" {
		return fmt.Sprintf("holdfast: conflict: its key %q is held by job %s", e.Key, e.Holder)
	}
	return "holdfast: conflict: its unique key is held by job " + e.Holder.String()
}

// Unwrap makes the error an ErrConflict.
func (e *UniqueError) Unwrap() error { return ErrConflict }
