package usercode

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// EndingOf tells why a durable run that begins is ending, if it is.
func EndingOf(c *store.Claimed, now time.Time) error {
	switch {
	case !c.Durable:
	case c.CancelRequested:
		return CancelCause(c.CancelReason)
	case IsLate(&c.Job, now):
		return ErrTimeout
	}
	return nil
}

// IsLate reports whether the deadline of a job has passed, if it has one.
func IsLate(job *store.Job, now time.Time) bool {
	deadline := job.Options.Deadline
	return !deadline.IsZero() && !now.Before(deadline)
}
