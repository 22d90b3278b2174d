package system

import (
	"context"
	"errors"
	"time"
)

// ErrUnavailable is that of an insert which the database has not taken in the time that the
// system allows.
var ErrUnavailable = errors.New("the system has given up")

// Naming are clients whose jobs can have a queue, a unique key or an ordering key.
type Naming interface {
	// InsertInto stores jobs in the queue that is named for the place of each.
	InsertInto(ctx context.Context, args []Args, queue func(i int) string) error
	// InsertUnique stores jobs that run after a delay. Those whose Num an unfinished job has are
	// not stored, which is no error.
	InsertUnique(ctx context.Context, args []Args, after time.Duration) error
	// InsertOrdered stores jobs of which those run one after the other that have the same key.
	InsertOrdered(ctx context.Context, args []Args, key func(i int) string) error
}

// Transacting are clients that can store a job in a transaction of the caller's.
type Transacting interface {
	// InsertTx begins a transaction and stores a job in it. It is visible once commit is called.
	InsertTx(ctx context.Context, args Args) (commit func(context.Context) error, err error)
}

// Holding are clients that can hold what a caller's transaction holds: each method lets one do all
// but its commit, which follows when release is called. Work has to be called first.
type Holding interface {
	// HoldSend sends a message to a job that runs, and lets the job end.
	HoldSend(ctx context.Context) (release func(context.Context) error, err error)
	// HoldUnique stores a job with the unique key that InsertUnique gives to a Num.
	HoldUnique(ctx context.Context, num int) (release func(context.Context) error, err error)
	// HoldStep is in the step of a durable function that writes to the same database.
	HoldStep(ctx context.Context) (release func(context.Context) error, err error)
}

// Remembering are clients whose durable functions can decide many things before they are stored.
type Remembering interface {
	// Remember returns when a function has ended that has stored so many decisions at once.
	Remember(ctx context.Context, decisions int) error
}

// Counting are clients that can tell how many jobs are running.
type Counting interface {
	Running(ctx context.Context) (int64, error)
}
