package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/holdfastdev/holdfast/store"
)

// Patience is how long a caller without a deadline waits for the file. Only tests change it.
var Patience = 30 * time.Second

// Patient repeats try as long as it fails because another process has the file, until ctx ends, or
// for 30 seconds if ctx has no deadline. SQLite has no queue for its lock: the process that comes
// at the right moment gets it. So the pauses stay short, to find the gaps between the transactions
// of a process that writes all the time.
func Patient(ctx context.Context, try func() error) error {
	err := try()
	if !IsBusy(err) {
		return err
	}
	waiting, cancel := WithPatience(ctx)
	defer cancel()
	for n := 0; IsBusy(err); n++ {
		if Pause(waiting, BetweenTries(n)) != nil {
			return Impatient(ctx, "another process or connection")
		}
		err = try()
	}
	return err
}

// BetweenTries is the pause after a number of tries.
func BetweenTries(n int) time.Duration {
	switch {
	case n > 1000:
		return 5 * time.Millisecond
	case n > 100:
		return time.Millisecond
	default:
		return 200 * time.Microsecond
	}
}

// WithPatience bounds a context that has no bound of its own.
func WithPatience(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, bounded := ctx.Deadline(); bounded {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, Patience)
}

// Impatient is the error of a caller whose wait for the file came to an end.
func Impatient(ctx context.Context, who string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w while %s held the database", err, who)
	}
	return fmt.Errorf("%w: %s held the database for %v", store.ErrUnavailable, who, Patience)
}

// IsBusy reports whether another process has what the statement needs: the write lock; for a
// moment, when a process recovers or removes the log, even the right to read.
func IsBusy(err error) bool {
	if err == nil {
		return false
	}
	code := sqlite.ErrCode(err)
	var theirs interface{ Code() int } // the errors of modernc.org/sqlite, in callers' transactions
	if errors.As(err, &theirs) {
		code = sqlite.ResultCode(theirs.Code())
	}
	if code == sqlite.ResultBusySnapshot {
		return false // a transaction that read before another's commit can never write: waiting does not help
	}
	switch code.ToPrimary() {
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultProtocol:
		return true
	default:
		return false
	}
}
