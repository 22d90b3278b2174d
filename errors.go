package holdfast

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/store"
)

// The errors that callers tell apart with errors.Is. The package comment says what to do about each.
var (
	// ErrInvalid: the request can never succeed as it is.
	ErrInvalid = store.ErrInvalid
	// ErrPermission, which is an ErrInvalid, too: the database does not let its user do that. The
	// error says what the user lacks.
	ErrPermission = store.ErrPermission
	// ErrNotFound: there is no such job, or it was removed when its retention was over.
	ErrNotFound = store.ErrNotFound
	// ErrConflict: the request contradicts what is stored. A taken unique key is a *UniqueError.
	ErrConflict = store.ErrConflict
	// ErrUnavailable: the database did not answer in time. What was asked for may have happened; it may be asked for again.
	ErrUnavailable = store.ErrUnavailable
	// ErrReadOnly: the database refuses writes.
	ErrReadOnly = store.ErrReadOnly
	// ErrFull: the disk of the database is full.
	ErrFull = store.ErrFull
	// ErrSchema: the database's schema is newer than this program, or missing.
	ErrSchema = store.ErrSchema
	// ErrDatabaseGone: the SQLite file was deleted or replaced while it was open. Nothing was stored, nor can be: stop every program
	// that has it open, put the file back, or begin with a new one. A node that meets it stops.
	ErrDatabaseGone = store.ErrDatabaseGone
	// ErrClosed: the client was closed.
	ErrClosed = store.ErrClosed

	// ErrLeaseLost is the cause of a handler's context when its job was given to somebody else, and the error of what it
	// then tries to write.
	ErrLeaseLost = store.ErrLeaseLost
	// ErrCancelled is the cause of a handler's context when somebody asked to cancel the job, and what waiting for a cancelled job returns.
	ErrCancelled = engine.ErrCancelled
	// ErrTimeout is the cause of a handler's context when its attempt or its job took too long.
	ErrTimeout = engine.ErrTimeout
	// ErrShutdown is the cause of a handler's context when its node stops and has waited long enough.
	ErrShutdown = engine.ErrShutdown

	// ErrWaitTimeout is what a wait of a durable function returns when its time limit is over.
	ErrWaitTimeout = engine.ErrWaitTimeout

	// ErrJournalFull is what the operations of a durable function return that remembers as much as WithMaxJournal allows. Return
	// ContinueAsNew, or split the work into children. A handler that returns it fails its job.
	ErrJournalFull = engine.ErrJournalFull

	// ErrFailed is what waiting for a failed job returns, as a *JobError.
	ErrFailed = errors.New("holdfast: job failed")
)

// StepError is the failure of a step: the same value when it happens and whenever it is replayed, which is why it does
// not wrap the error itself.
type StepError = engine.StepError

// MessageError is what a wait returns for a signal, or for the answer to a callback, that does not
// decode into what the code wants. It is an ErrInvalid that names the job, the signal and the
// message, and why. Who goes on from it has received the message, and gets the same error whenever
// the run is replayed. If the attempt fails with it, the next one waits for the next signal: what
// was refused is told by the error of the attempt and by Client.Journal, and can be sent again. The
// answer to a callback is the same one again.
type MessageError = engine.MessageError

// UniqueError tells which job holds the unique key that an enqueue asked for with Reject. It is an ErrConflict.
type UniqueError = store.UniqueError

// JobError is how a job ended that did not complete. It is an ErrFailed or an ErrCancelled.
type JobError struct {
	ID      ID
	State   State // Failed or Cancelled
	Reason  Reason
	Message string // of the last error, or of who cancelled
}

func (e *JobError) Error() string {
	text := fmt.Sprintf("holdfast: job %s %s", e.ID, e.State)
	if string(e.Reason) != e.State.String() {
		text += fmt.Sprintf(" (%s)", e.Reason) // and not "cancelled (cancelled)"
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Unwrap makes the error an ErrFailed or an ErrCancelled.
func (e *JobError) Unwrap() error {
	if e.State == Cancelled {
		return ErrCancelled
	}
	return ErrFailed
}

// RetryAfter is returned by a handler to be tried again after d instead of after its backoff. The attempt counts. err says
// why; it may be nil.
func RetryAfter(d time.Duration, err error) error { return &engine.RetryError{Delay: d, Err: err} }

// Snooze is returned by a handler to run again after d. The attempt does not count.
func Snooze(d time.Duration) error { return &engine.SnoozeError{Delay: d} }

// Cancel is returned by a handler to end its job as cancelled.
func Cancel(reason string) error { return &engine.CancelError{Reason: reason} }

// errUnnamed stands for the error that a handler did not name.
var errUnnamed = errors.New("failed by its handler")

// Fail is returned by a handler to end its job as failed, whatever attempts are left. A nil err is not allowed and becomes one.
func Fail(err error) error {
	if err == nil {
		err = errUnnamed
	}
	return &engine.FailError{Err: err}
}
