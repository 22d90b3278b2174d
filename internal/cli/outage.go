package cli

import (
	"context"
	"errors"
	"time"

	"github.com/holdfastdev/holdfast"
)

// outage is what a long-running command does while the database does not answer: it says so
// once, and asks again until it answers or somebody interrupts.
type outage struct {
	app      *app
	told     bool
	interval time.Duration
}

// passes reports whether an error is that of an outage, and waits a little for its end.
func (o *outage) passes(ctx context.Context, err error) bool {
	if !errors.Is(err, holdfast.ErrUnavailable) || ctx.Err() != nil {
		return false
	}
	o.begins(err)
	o.interval = min(2*o.interval, lastLook)
	return pauseFor(ctx, o.interval) == nil
}

// begins tells of an outage, once.
func (o *outage) begins(err error) {
	if !o.told {
		o.told, o.interval = true, firstLook
		o.app.notef("The database does not answer; retrying: %s", oneLine(withoutPasswords(err.Error())))
	}
}

// over tells that the database has answered.
func (o *outage) over() {
	if o.told {
		o.told = false
		o.app.notef("The database answers again.")
	}
}
