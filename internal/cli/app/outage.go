package app

import (
	"context"
	"errors"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/output"
)

// Poll intervals start at FirstLook and grow to LastLook.
const (
	FirstLook = 20 * time.Millisecond
	LastLook  = time.Second
)

// Outage lets a long-running command survive that the database does not answer: it says so once,
// and retries until the database answers or the user interrupts.
type Outage struct {
	app      *App
	told     bool
	interval time.Duration
}

// NewOutage returns an Outage that has not begun.
func (a *App) NewOutage() *Outage { return &Outage{app: a} }

// Passes reports whether an error is one of an outage, and waits a little before the next try.
func (o *Outage) Passes(ctx context.Context, err error) bool {
	if !errors.Is(err, holdfast.ErrUnavailable) || ctx.Err() != nil {
		return false
	}
	o.Begins(err)
	o.interval = min(2*o.interval, LastLook)
	return PauseFor(ctx, o.interval) == nil
}

// Begins reports an outage, once.
func (o *Outage) Begins(err error) {
	if !o.told {
		o.told, o.interval = true, FirstLook
		o.app.Notef("The database does not answer; retrying: %s", output.OneLine(output.WithoutPasswords(err.Error())))
	}
}

// Over reports that the database answers again.
func (o *Outage) Over() {
	if o.told {
		o.told = false
		o.app.Notef("The database answers again.")
	}
}

// PauseFor waits for d, or returns the error of ctx if that ends first.
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
