package app

import (
	"context"
	"errors"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/output"
)

// The interval at which something is looked at that may change begins with FirstLook, and grows to LastLook.
const (
	FirstLook = 20 * time.Millisecond
	LastLook  = time.Second
)

// Outage is what a long-running command does while the database does not answer: it says so
// once, and asks again until it answers or somebody interrupts.
type Outage struct {
	app      *App
	told     bool
	interval time.Duration
}

// NewOutage is an outage that has not begun.
func (a *App) NewOutage() *Outage { return &Outage{app: a} }

// Passes reports whether an error is that of an outage, and waits a little for its end.
func (o *Outage) Passes(ctx context.Context, err error) bool {
	if !errors.Is(err, holdfast.ErrUnavailable) || ctx.Err() != nil {
		return false
	}
	o.Begins(err)
	o.interval = min(2*o.interval, LastLook)
	return PauseFor(ctx, o.interval) == nil
}

// Begins tells of an outage, once.
func (o *Outage) Begins(err error) {
	if !o.told {
		o.told, o.interval = true, FirstLook
		o.app.Notef("The database does not answer; retrying: %s", output.OneLine(output.WithoutPasswords(err.Error())))
	}
}

// Over tells that the database has answered.
func (o *Outage) Over() {
	if o.told {
		o.told = false
		o.app.Notef("The database answers again.")
	}
}

// PauseFor waits so long, or returns the error of the context that has ended before.
func PauseFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
