// Package system says what a system under measurement can be asked to do. Holdfast, its peers and
// the raw ceilings are systems; a scenario knows nothing else of them, so that each is driven and
// counted in the same way.
//
// What counts as done is the one thing that every system has to be honest about: Worker.Wait and
// Worker.Stop return when the outcomes that they speak of are committed, never when a handler has
// merely returned.
package system

import (
	"context"
	"errors"
	"time"
)

// The stores.
const (
	Postgres = "postgres"
	SQLite   = "sqlite"
)

// ErrUnsupported says that a system cannot do what a scenario needs.
var ErrUnsupported = errors.New("the system cannot do that")

// Args are those of every job.
type Args struct {
	Num int   `json:"num"`
	At  int64 `json:"at,omitempty"` // nanoseconds: when its enqueue began
	// Stay keeps a node in a process of its own from ever ending the job.
	Stay bool `json:"stay,omitempty"`
}

// Database is where a system works: an empty database of its own.
type Database struct {
	Store string `json:"store"`
	URL   string `json:"url"` // or, for SQLite, the path of a file
}

// Options are how a system is opened.
type Options struct {
	Slots int // jobs at once; 0 is what the system does best with, or its default where that is what is measured
	Steps int // of a durable function
	// Queues are those that are served, with a limit each; none: all, without limits.
	Queues []Queue
	// Limit is how many jobs may run at once over all nodes; 0: no limit is kept.
	Limit int
	// Rate is how many jobs may start in a second over all nodes; 0: no limit has a rate.
	Rate int
	// FairKeys is how many fair keys the jobs have that InsertMany stores; 0: none.
	FairKeys int
	// LimitKeys is how many keys of a limit per key these jobs count under; 0: they count under
	// none. KeyCapacity is how many of each key run at once; 0: more than there are.
	LimitKeys, KeyCapacity int
	// Inside has jobs enqueued by the program of the server itself, where there is a server: what
	// is measured then is that of workers alone.
	Inside bool
	// Ended is called when ends of jobs have been committed, by systems that know; nil: it is not.
	Ended func()
	// Quiet keeps it from logging warnings, where what it would warn of is what is measured.
	Quiet bool
}

// Queue is a queue of which so many jobs may run at once.
type Queue struct {
	Name  string
	Slots int
}

// System is a way to run jobs.
type System interface {
	Name() string
	// Settings are what the system was set to, for the record.
	Settings(db Database) map[string]string
	// Open creates what the system needs in the database where it is missing, and connects.
	Open(ctx context.Context, db Database, opts Options) (Client, error)
}

// Client is an open system.
type Client interface {
	// Insert stores one job, and returns when it is durable.
	Insert(ctx context.Context, args Args) error
	// InsertMany stores jobs in the way that is best for many, and returns when they are durable.
	InsertMany(ctx context.Context, args []Args) error
	// Settle brings the database into a state in which the system is at its best, such as fresh
	// statistics. It is not timed.
	Settle(ctx context.Context) error
	// Work starts to run jobs. The handler may be called by many goroutines.
	Work(ctx context.Context, handle func(Args)) (Worker, error)
	// Left is how many jobs are not finished, at least: it may stop to count.
	Left(ctx context.Context) (int64, error)
	Close(ctx context.Context) error
}

// Worker runs jobs.
type Worker interface {
	// Done is how many jobs have been worked so far. It may be ahead of what is committed by the
	// jobs in flight.
	Done() int64
	// Wait returns when so many jobs have been worked and their outcomes are committed. The worker
	// may work no more after it.
	Wait(ctx context.Context, jobs int64) error
	// Stop ends the work and returns how many jobs were worked, when the outcomes of all of them
	// are committed.
	Stop(ctx context.Context) (int64, error)
}

// Flows are clients that can run durable functions. Work has to be called first.
type Flows interface {
	// Flow starts a durable function of Options.Steps steps, and returns when its end is durable.
	Flow(ctx context.Context) error
}

// FanOut are clients that can start many children from one durable function.
type FanOut interface {
	// FanOut starts so many children, and returns when all of them and their parent have ended.
	FanOut(ctx context.Context, children int) error
}

// Parking are clients whose durable functions can wait without running.
type Parking interface {
	// Park starts runs that wait, half of them for a time and half for a signal, and returns when
	// all of them do.
	Park(ctx context.Context, runs int) error
}

// Browsing are clients that list and count jobs.
type Browsing interface {
	// Looks are the questions that a dashboard asks, by name.
	Looks() map[string]func(ctx context.Context) error
}

// Listing are clients that list jobs over a long history.
type Listing interface {
	// FillLists makes so many finished jobs, in a way that is fast.
	FillLists(ctx context.Context, finished int) error
	// Lists are the pages to ask for, by name. Each fails if it has not as many jobs as it should.
	Lists(ctx context.Context) (map[string]func(ctx context.Context) error, error)
}

// Historian are clients that can make finished jobs faster than by running them.
type Historian interface {
	FillHistory(ctx context.Context, jobs int) error
}

// Pause waits.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
