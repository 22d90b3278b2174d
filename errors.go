package holdfast

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// Errors to test for with errors.Is. The package comment says what to do about them.
var (
	// ErrInvalid: the request can never succeed as it is.
	ErrInvalid = store.ErrInvalid
	// ErrPermission, also an ErrInvalid: the database denies the operation. The error says what the
	// database user lacks.
	ErrPermission = store.ErrPermission
	// ErrNotFound: there is no such job, or it was removed after its retention.
	ErrNotFound = store.ErrNotFound
	// ErrConflict: the request contradicts what is stored. A taken unique key is a
	// *store.UniqueError.
	ErrConflict = store.ErrConflict
	// ErrUnavailable: the database did not answer in time. The request may have been carried out;
	// it may be repeated.
	ErrUnavailable = store.ErrUnavailable
	// ErrBusy, also an ErrUnavailable: an open transaction of a caller holds what the request
	// needs, such as the job or its unique key. Nothing of it has happened; repeat it a moment
	// later.
	ErrBusy = store.ErrBusy
	// ErrReadOnly: the database refuses writes.
	ErrReadOnly = store.ErrReadOnly
	// ErrFull: the disk of the database is full.
	ErrFull = store.ErrFull
	// ErrSchema: the database's schema is newer than this program, or missing.
	ErrSchema = store.ErrSchema
	// ErrDatabaseGone: the SQLite file was deleted or replaced while it was open. Nothing was
	// stored, and nothing can be. Stop every program that has it open, then put the file back or
	// start with a new one. A node that gets this error stops.
	ErrDatabaseGone = store.ErrDatabaseGone
	// ErrClosed: the client was closed.
	ErrClosed = store.ErrClosed

	// ErrLeaseLost is the cause of a handler's context when its job was given to another run, and
	// the error of the handler's later writes.
	ErrLeaseLost = store.ErrLeaseLost
	// ErrCancelled is the cause of a handler's context when a cancel of the job was requested, and
	// the error of waiting for a cancelled job.
	ErrCancelled = usercode.ErrCancelled
	// ErrTimeout is the cause of a handler's context when its attempt or its job took too long.
	ErrTimeout = usercode.ErrTimeout
	// ErrHeartbeat, also an ErrTimeout, is the cause of a handler's or a step's context when it
	// made no progress for longer than its HeartbeatTimeout.
	ErrHeartbeat = usercode.ErrHeartbeat
	// ErrShutdown is the cause of a handler's context when its node stops and the stop timeout is
	// over.
	ErrShutdown = usercode.ErrShutdown

	// ErrParked is what a Middleware gets if the job has not ended but goes on later: its run is
	// parked, as it waits, is paused, or is held. The errors that a handler returns to go on later
	// are an ErrParked as well, if it does: Snooze, HandOver and ContinueAsNew.
	ErrParked = usercode.ErrParked

	// ErrWaitTimeout is the error of a wait of a durable function whose time limit is over. The
	// error that is returned names the signal, the callback or the condition.
	ErrWaitTimeout = replay.ErrWaitTimeout

	// ErrJournalFull is the error of operations of a durable function whose journal has reached
	// WithMaxJournal. Return ContinueAsNew, or split the work into children. A handler that returns
	// it fails its job.
	ErrJournalFull = usercode.ErrJournalFull

	// ErrNotWaitedFor is the error of a child that CallAll did not wait for.
	ErrNotWaitedFor = errors.New("holdfast: the child was not waited for")

	// ErrFailed is the error of waiting for a failed job, as a *JobError.
	ErrFailed = errors.New("holdfast: job failed")
)

// StepError is the failure of a step. It does not wrap the original error, because it is the same
// value when it happens and on every replay.
type StepError struct {
	Step      string
	Message   string // of the original error
	Type      string // the Go type of the error, for people
	Attempts  int    // how often the step was tried
	Permanent bool   // the error was from Fail: no retry helps
	TimedOut  bool   // the last attempt took too long, or made no progress

	recorded *usercode.StepError
}

func (e *StepError) Error() string { return "step " + e.Step + ": " + e.Message }

// Unwrap returns the recorded failure, by which a node recognizes a step's failure.
func (e *StepError) Unwrap() error {
	if e.recorded == nil {
		return nil
	}
	return e.recorded
}

// MessageError is the error of a wait for a signal, or for the answer to a callback, that does not
// decode into the expected type. It is an ErrInvalid that names the job, the signal, the message
// and the problem. A handler that carries on has received the message, and gets the same error on
// every replay. If the attempt fails with it, the next attempt waits for the next signal. The error
// of the attempt and Client.Journal show the refused message, which can be sent again. For a
// callback, the next attempt gets the same answer again.
type MessageError struct {
	Job      ID
	Message  int64  // its number among the messages of the job
	Signal   string // its name; "" for the answer to a callback
	Callback string // the name of the callback; "" for a signal
	Problem  string // why it does not decode

	recorded error
}

func (e *MessageError) Error() string { return e.recorded.Error() }

// Unwrap makes the error an ErrInvalid.
func (e *MessageError) Unwrap() error { return e.recorded }

// failure converts an error of a run's operation from the internal type to the one of this package.
func failure(err error) error {
	switch e := err.(type) { //nolint:errorlint // not wrapped
	case *usercode.StepError:
		return &StepError{
			Step: e.Step, Message: e.Message, Type: e.Type, Attempts: e.Attempts, Permanent: e.Permanent, TimedOut: e.TimedOut, recorded: e,
		}
	case *usercode.MessageError:
		return &MessageError{Job: e.Job, Message: e.Message, Signal: e.Signal, Callback: e.Callback, Problem: e.Problem, recorded: e}
	}
	return err
}

// waited converts the error of a wait. A timeout says what was waited for, such as a signal.
func waited(what, name string, err error) error {
	if err == ErrWaitTimeout { //nolint:errorlint,err113 // not wrapped
		return fmt.Errorf("%w: %s %q", err, what, name)
	}
	return failure(err)
}

// JobError says how a job ended that did not complete. It is an ErrFailed or an ErrCancelled.
type JobError struct {
	ID      ID
	State   store.State // Failed or Cancelled
	Reason  store.Reason
	Message string // of the last error or the cancel
}

func (e *JobError) Error() string {
	text := fmt.Sprintf("holdfast: job %s %s", e.ID, e.State)
	if string(e.Reason) != e.State.String() {
		text += fmt.Sprintf(" (%s)", e.Reason) // else it would say "cancelled (cancelled)"
	}
	if e.Message != "" {
		text += ": " + e.once()
	}
	return text
}

// once is the message without what is said before it.
func (e *JobError) once() string {
	job := "job " + e.ID.String()
	return strings.NewReplacer("holdfast: ", "", job+": ", "", job, "the job").Replace(e.Message)
}

// Unwrap makes the error an ErrFailed or an ErrCancelled.
func (e *JobError) Unwrap() error {
	if e.State == store.Cancelled {
		return ErrCancelled
	}
	return ErrFailed
}

// RetryAfter is returned by a handler to be retried after d instead of after its backoff. The
// attempt counts. err is the reason; it may be nil. If d is not positive, it is retried at once.
func RetryAfter(d time.Duration, err error) error { return &usercode.RetryError{Delay: d, Err: err} }

// Snooze is returned by a handler to run again after d, or at once if d is not positive. The
// attempt does not count, but stays in the job's record.
func Snooze(d time.Duration) error { return &usercode.SnoozeError{Delay: d} }

// Cancel is returned by a handler to end its job as cancelled.
func Cancel(reason string) error { return &usercode.CancelError{Reason: reason} }

// errUnnamed replaces a nil error given to Fail.
var errUnnamed = errors.New("failed by its handler")

// Fail is returned by a handler to fail its job, even if attempts are left. A nil err is not
// allowed and is replaced.
func Fail(err error) error {
	if err == nil {
		err = errUnnamed
	}
	return &usercode.FailError{Err: err}
}
