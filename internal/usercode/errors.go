// Package usercode is the border to the user's functions: the errors that they return to say how a
// job goes on, those that they get, and what is kept of an error or a panic, whose methods are the
// user's code, too, and may panic.
//
// Of ours, it imports only store.
package usercode

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// The causes with which a handler's context ends, as context.Cause tells. The stores' ErrLeaseLost
// is the fourth.
var (
	// ErrCancelled: a cancel of the job was requested.
	ErrCancelled = errors.New("holdfast: job cancelled")
	// ErrTimeout: the attempt, or the whole job, took longer than it may.
	ErrTimeout = errors.New("holdfast: timed out")
	// ErrHeartbeat, which is an ErrTimeout: the attempt made no progress for longer than it may.
	ErrHeartbeat = fmt.Errorf("%w: no heartbeat", ErrTimeout)
	// ErrShutdown: the node stops.
	ErrShutdown = errors.New("holdfast: node is shutting down")
)

var (
	// ErrParked is what is around a handler gets if the job has not ended: its run is parked, as it
	// waits, is paused, or is held. What a handler returns to go on later is one as well.
	ErrParked = errors.New("holdfast: run parked")
	// ErrGoexit is the error of a handler that ended its goroutine, as testing.T.FailNow does.
	ErrGoexit = errors.New("the handler ended its goroutine (runtime.Goexit)")
)

// SnoozeError makes a job run again later, without counting the attempt.
type SnoozeError struct{ Delay time.Duration }

func (e *SnoozeError) Error() string { return "snoozed for " + e.Delay.String() }

// Is makes it an ErrParked.
func (e *SnoozeError) Is(target error) bool { return target == ErrParked }

// ThrottledError lets the queue of a job rest, for a delay at least, and for longer by the curve if
// rests follow each other. The job runs again after that, without counting the attempt.
type ThrottledError struct {
	Delay time.Duration
	Curve store.Backoff
}

func (e *ThrottledError) Error() string { return "throttled" }

// Is makes it an ErrParked.
func (e *ThrottledError) Is(target error) bool { return target == ErrParked }

// HandOverError hands a job over: it is finished from outside, or its handler is called again after
// the limit, if that is positive.
type HandOverError struct{ Limit time.Duration }

func (e *HandOverError) Error() string { return "handed over" }

// Is makes it an ErrParked.
func (e *HandOverError) Is(target error) bool { return target == ErrParked }

// RetryError makes a job run again after a delay that the handler chose. The attempt counts.
type RetryError struct {
	Delay time.Duration
	Err   error // why, or nil
}

func (e *RetryError) Error() string {
	if e.Err == nil {
		return "asked to be retried after " + e.Delay.String()
	}
	return e.Err.Error()
}

func (e *RetryError) Unwrap() error { return e.Err }

// CancelError makes a job cancelled.
type CancelError struct{ Reason string }

func (e *CancelError) Error() string { return "cancelled by its handler: " + e.Reason }

// ContinueError makes a durable job start over, with other args and an empty journal.
type ContinueError struct {
	Kind  string // whose args they are
	Args  []byte
	Codec int
}

func (e *ContinueError) Error() string { return "continues as new" }

// Is makes it an ErrParked.
func (e *ContinueError) Is(target error) bool { return target == ErrParked }

// FailError makes a job failed, whatever attempts are left.
type FailError struct{ Err error }

func (e *FailError) Error() string { return e.Err.Error() }

func (e *FailError) Unwrap() error { return e.Err }

// ErrJournalFull is what the operations of a run return that would let it remember more than it
// may.
var ErrJournalFull = errors.New("holdfast: the journal is full")

// StepError is the failure of a step, the same when it happens and when it is replayed.
type StepError struct {
	Step      string `json:"step"`
	Message   string `json:"message"`
	Type      string `json:"type,omitempty"`      // the Go type of the error
	Attempts  int    `json:"attempts"`            // how often the step was tried
	Permanent bool   `json:"permanent,omitempty"` // the step said that trying again does not help
	TimedOut  bool   `json:"timed_out,omitempty"` // the last attempt took too long
}

func (e *StepError) Error() string { return "step " + e.Step + ": " + e.Message }

// CancelCause is the cause with which a run ends whose cancel was requested.
func CancelCause(reason string) error {
	if reason == "" {
		return ErrCancelled
	}
	return &cancelledError{reason}
}

// cancelledError is an ErrCancelled with what the one who asked has said.
type cancelledError struct{ reason string }

func (e *cancelledError) Error() string { return ErrCancelled.Error() + ": " + e.reason }

func (e *cancelledError) Unwrap() error { return ErrCancelled }

// CancelReason is what is told of a job that was cancelled: what the one who asked has said, as for
// a job that did not run.
func CancelReason(cause error) string {
	if c, ok := errors.AsType[*cancelledError](cause); ok {
		return c.reason
	}
	return ""
}
