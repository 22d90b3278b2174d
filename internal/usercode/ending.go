package usercode

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// EndingOf tells why a durable run that begins is ending, if it is.
func EndingOf(c *store.Claimed, now time.Time) error {
	switch deadline := c.Job.Options.Deadline; {
	case !c.Durable:
	case c.CancelRequested:
		return CancelCause(c.CancelReason)
	case !deadline.IsZero() && !now.Before(deadline):
		return ErrTimeout
	}
	return nil
}
