package gating

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
)

// Look reports whether it is time to look at the gates at which jobs wait, and one of them is free,
// or to look for those that wait for the rate of their key. Nearly always there are none.
func Look(t *core.Tx, promoted *store.Promoted) (free bool, err error) {
	waits, err := t.AnyGated()
	if err != nil || !waits {
		return false, err
	}
	key, err := t.NextKey()
	if err != nil || key <= t.Now {
		return true, err
	}
	promoted.NextDue = core.NextDue(promoted.NextDue, key)
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

// Sweep lets jobs go on that wait at gates that are free, if it is time for that, and up to a limit
// of keys at which the rate lets them.
func Sweep(t *core.Tx, promoted *store.Promoted, limit int) error {
	waits, err := t.AnyGated()
	if err != nil || !waits {
		return err
	}
	more, err := t.TouchKeys(limit)
	if err != nil {
		return err
	}
	if sweep := &t.Database.Sweep; sweep.IsDue(t.Now) {
		began := time.Now()
		if _, err := t.TouchWaiting("", ""); err != nil {
			return err
		}
		sweep.Done(t.Now, time.Since(began))
	}
	if err := t.HandOnGates(); err != nil { // so that it is noted when the next ones may go on
		return err
	}
	key, err := t.NextKey()
	promoted.Jobs += t.Ungated
	promoted.More = promoted.More || more
	promoted.NextDue = core.NextDue(earlier(promoted.NextDue, t.Database.Sweep.Next()), key)
	return err
}

// earlier returns the earlier of two times, of which the first may be none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
