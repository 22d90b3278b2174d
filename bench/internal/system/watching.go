package system

import (
	"context"
	"time"
)

// ID names a job. Every client of the database may use it.
type ID [16]byte

// Streaming are clients whose durable functions can tell others how far they are. Work has to be
// called first, on one client of the database.
type Streaming interface {
	// Stream starts a durable function that appends so many items to a stream, one every so often,
	// and tells how long each append took until it was durable.
	Stream(ctx context.Context, items int, every time.Duration, appended func(took time.Duration)) (ID, error)
	// Follow tells of each item when its append has begun, and returns when the function has ended.
	Follow(ctx context.Context, job ID, each func(appended time.Time)) error
}

// Asking are clients that can ask a durable function something. Work has to be called first.
type Asking interface {
	// Asked starts a durable function that answers requests.
	Asked(ctx context.Context) (ID, error)
	// Parked returns when the function does nothing but wait, without a place in memory.
	Parked(ctx context.Context, job ID) error
	// Ask sends a request and returns when there is an answer.
	Ask(ctx context.Context, job ID) error
}

// Awaiting are clients that can wait for jobs, whoever runs them.
type Awaiting interface {
	// InsertNamed stores jobs, and returns their names.
	InsertNamed(ctx context.Context, args []Args) ([]ID, error)
	// Await returns when the job has ended.
	Await(ctx context.Context, job ID) error
}

// Explaining are clients that can say why a job does not run.
type Explaining interface {
	// SomeWaiting names the newest jobs that wait, so many at the most.
	SomeWaiting(ctx context.Context, most int) ([]ID, error)
	Why(ctx context.Context, job ID) error
}
