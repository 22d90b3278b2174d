package gating

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
)

// Look reports whether it is time to look at the gates at which jobs wait, and one of them
// is free. Nearly always there are none.
func Look(t *core.Tx, promoted *store.Promoted) (free bool, err error) {
	waits, err := t.AnyGated()
	if err != nil || !waits {
		return false, err
	}
	if sweep := &t.Database.Sweep; sweep.IsDue(t.Now) {
		began := time.Now()
		if free, err = t.TouchWaiting("", ""); err != nil || free {
			return free, err
		}
		sweep.Done(t.Now, time.Since(began))
	}
	promoted.NextDue = earlier(promoted.NextDue, t.Database.Sweep.Next())
	return false, nil
}

// Sweep lets jobs go on that wait at gates that are free, if it is time for that.
func Sweep(t *core.Tx, promoted *store.Promoted) error {
	waits, err := t.AnyGated()
	if err != nil || !waits {
		return err
	}
	if sweep := &t.Database.Sweep; sweep.IsDue(t.Now) {
		began := time.Now()
		if _, err := t.TouchWaiting("", ""); err != nil {
			return err
		}
		sweep.Done(t.Now, time.Since(began))
	}
	promoted.NextDue = earlier(promoted.NextDue, t.Database.Sweep.Next())
	return nil
}

// earlier returns the earlier of two times, of which the first may be none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
