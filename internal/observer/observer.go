// Package observer is how an engine tells what hooks are not told of: claims, duties, the fires of
// schedules, leases that were lost, and what is in the queues. Package telemetry makes metrics and
// spans of it.
//
// An engine without an Observer has none of the cost: all methods of a nil one do nothing.
//
// # Imports
//
// Package store.
package observer

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Observer has the functions that are told. All of them are set. They are called where it happens,
// by many goroutines, and must return at once.
type Observer struct {
	// Opened is told when an engine begins, with how to look at its process, which asks no
	// database, and returns what is called when it ends.
	Opened func(look func() Process) (closed func())
	// Claimed is told of each claim that the store has answered.
	Claimed func(namespace string, jobs int, took time.Duration)
	// LeaseLost is told of a run whose outcome was dropped, because its lease was lost.
	LeaseLost func(namespace, queue, kind string)
	// Performed is told of a duty that was performed; ctx is that of the node.
	Performed func(ctx context.Context, d Duty)
	// Fires is told of a fire of a schedule before it is written. It may change the jobs that are
	// enqueued, and returns what is told how that ended.
	Fires func(ctx context.Context, u *store.Unit, now time.Time) func(error)
	// Queues is told what is in the queues, by the leader, every LookEvery.
	Queues func(queues []store.Queue, now time.Time)
}

// LookEvery is how often a leader looks at the queues for an Observer.
const LookEvery = 15 * time.Second

// MostNamespaces is of how many namespaces a leader looks at the queues.
const MostNamespaces = 20

// Process is what an engine knows of itself.
type Process struct {
	Nodes        []Node
	Away         time.Duration // for how long the database has not answered; 0: it answers
	HooksDropped int64
	Panics       int64
}

// Node is what a node knows of itself.
type Node struct {
	Namespace string
	Leader    bool
	Slots     int
	Running   int
	Pending   int           // outcomes that are not stored yet
	Silent    time.Duration // since its last beat; 0: it had none
	Lag       time.Duration // of the first job that waits for a slot
}

// Duty is a duty of a node, such as rescuing jobs, that was performed once.
type Duty struct {
	Name  string
	Began time.Time
	Took  time.Duration
	Jobs  int // for which it did something
	Err   error
}

// Began tells that an engine begins, and returns what is called when it ends.
func (o *Observer) Began(look func() Process) (closed func()) {
	if o == nil {
		return func() {}
	}
	return o.Opened(look)
}

// Claim tells of a claim.
func (o *Observer) Claim(namespace string, jobs int, took time.Duration) {
	if o != nil {
		o.Claimed(namespace, jobs, took)
	}
}

// Lost tells of a lost lease.
func (o *Observer) Lost(namespace, queue, kind string) {
	if o != nil {
		o.LeaseLost(namespace, queue, kind)
	}
}

// Perform performs a duty, and tells of it. do says with Did for how many jobs it did something.
func (o *Observer) Perform(ctx context.Context, name string, do func(ctx context.Context) error) error {
	if o == nil {
		return do(ctx)
	}
	counting, did := Count(ctx)
	d := Duty{Name: name, Began: time.Now()}
	d.Err = do(counting)
	d.Took, d.Jobs = time.Since(d.Began), int(did.Load())
	o.Performed(ctx, d)
	return d.Err
}

type counter struct{}

// Count returns a context in which what Did says is counted.
func Count(ctx context.Context) (context.Context, *atomic.Int64) {
	did := new(atomic.Int64)
	return context.WithValue(ctx, counter{}, did), did
}

// Did says that the duty whose context this is did something for some jobs.
func Did(ctx context.Context, jobs int) {
	if n, ok := ctx.Value(counter{}).(*atomic.Int64); ok {
		n.Add(int64(jobs))
	}
}

// Firing writes a fire, and calls a function when that has ended.
type Firing = func(ctx context.Context, u *store.Unit, done func(error))

// Fire tells of fires, which fire writes.
func (o *Observer) Fire(fire Firing, now func() time.Time) Firing {
	if o == nil {
		return fire
	}
	return func(ctx context.Context, u *store.Unit, done func(error)) {
		end := o.Fires(ctx, u, now())
		fire(ctx, u, func(err error) {
			end(err)
			done(err)
		})
	}
}
