// Package host is what a run needs from outside.
//
// # Imports
//
// Of ours, store.
package host

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Host is the attempt that a run is of: what it needs from outside. Its methods are called without
// any lock of the run's, but for Now, MaxJournal, Again and Say.
type Host interface {
	// Now is the time of the store.
	Now() time.Time
	// MaxJournal is how much the run may remember.
	MaxJournal() JournalLimit
	// Journal reads what the job remembers, and its inbox.
	Journal(ctx context.Context) (store.Journal, error)
	// Updates reads the open requests to the job after a number, at most store.UpdateBound.
	Updates(ctx context.Context, after int64) ([]store.Update, error)
	// Append stores what the run remembers, and returns when it is durable or the run's life has
	// ended. Calls follow one another.
	Append(a *store.Append) error
	// AppendLast is Append for what belongs to the end of the run, however its life has ended.
	AppendLast(a *store.Append) error
	// AppendTx stores in a transaction of the user's.
	AppendTx(ctx context.Context, tx store.Tx, a *store.Append) error
	// EntryAt returns the entry of that Seq, or nil, when no transaction with an append is open any
	// more.
	EntryAt(ctx context.Context, seq int64) (*store.Entry, error)

	// CancelChildren cancels the children of the job that have not ended and whose policy is
	// CancelAndWait. It returns how many of them have not ended yet.
	CancelChildren(ctx context.Context) (open int64, err error)

	// Call calls the handler.
	Call(ctx context.Context) ([]byte, error)
	// Again is the outcome of an attempt that failed: the job is tried again after the delay, or
	// after its backoff if that is negative; or it fails, if no attempt is left.
	Again(reason store.Reason, text, trace string, delay time.Duration) *store.Outcome
	// Ended is told that the handler's context has ended, or the whole run, and why: a handler that
	// ignores that is given up after a while.
	Ended(cause error)
	// GiveUpLater calls giveUp if a strand of a run that has ended is still in a transaction after
	// some time, and tells if it gave up.
	GiveUpLater(giveUp func() bool) (stop func())
	// Say logs a line about the job, without holding up the caller.
	Say(level slog.Level, msg string, attrs ...slog.Attr)
	// Catch is deferred by goroutines of the run: a panic of theirs ends it, so that its job is
	// tried again.
	Catch(part string)
}

// JournalLimit is how much a run may remember: what is there is read whenever it resumes.
type JournalLimit struct {
	Entries int64 // 50,000
	Bytes   int64 // of data, names and paths; 64 MiB
}

// Full tells, for an error, how much a run remembers that remembers all it may; "": it does not.
func (l JournalLimit) Full(entries, bytes int64) string {
	if entries < l.Entries && bytes < l.Bytes {
		return ""
	}
	return fmt.Sprintf(
		"%d of %d entries and %d of %d bytes (WithMaxJournal); return ContinueAsNew, or split the work into children",
		entries, l.Entries, bytes, l.Bytes)
}

// IsHalfFull reports whether a run remembers half of what it may.
func (l JournalLimit) IsHalfFull(entries, bytes int64) bool {
	return 2*entries >= l.Entries || 2*bytes >= l.Bytes
}
