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
	if err != nil {
		return false, err
	}
	if free, err = t.Database.Sweep.Look(t); err != nil {
		return false, err
	}
	goesOn(t, promoted, key)
	return free || key <= t.Now, nil
}

// goesOn says when there is more to do.
func goesOn(t *core.Tx, promoted *store.Promoted, key int64) {
	sweep := &t.Database.Sweep
	if sweep.Passing() {
		promoted.More = true
	} else {
		promoted.NextDue = earlier(promoted.NextDue, sweep.Next())
	}
	promoted.NextDue = core.NextDue(promoted.NextDue, key)
}

// Sweep lets jobs go on that wait at the gates that Look has found, and up to a limit of keys at
// which the rate lets them.
func Sweep(t *core.Tx, promoted *store.Promoted, limit int) error {
	waits, err := t.AnyGated()
	if err != nil || !waits {
		return err
	}
	more, err := t.TouchKeys(limit)
	if err != nil {
		return err
	}
	if err := t.Database.Sweep.Open(t); err != nil { // so that it is noted when the next ones may go on
		return err
	}
	key, err := t.NextKey()
	promoted.Jobs += t.Ungated
	promoted.More = promoted.More || more
	goesOn(t, promoted, key)
	return err
}

// earlier returns the earlier of two times, of which the first may be none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
