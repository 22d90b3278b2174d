package holdfasttest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// Env is a process that uses Holdfast, with a database in memory, in virtual time. Its methods that
// fail the test must be called by the goroutine of the test, as those of testing.T.
type Env struct {
	T      *testing.T // the T of the bubble
	Client *holdfast.Client

	world *world
}

// world is what all processes of a test have in common.
type world struct {
	memory  *memory
	stubs   stubs
	running sync.WaitGroup
	resting chan struct{} // holds something while a goroutine waits for all others to rest

	lasting context.Context // ends when the test has taken too long
	end     context.CancelFunc

	mu      sync.Mutex
	clients []*holdfast.Client
	nodes   []chan error // get how each node has ended
}

// rest waits until all other goroutines of the test wait for something.
func (e *Env) rest() {
	e.world.resting <- struct{}{} // synctest.Wait may not be called by two
	synctest.Wait()
	<-e.world.resting
}

// unfinished lists the jobs that have not finished, of all namespaces, oldest first.
func (e *Env) unfinished() []store.Record {
	return e.list(store.Filter{States: []store.State{store.Scheduled, store.Available, store.Running, store.Retryable, store.Waiting}})
}

// list lists jobs, oldest first.
func (e *Env) list(filter store.Filter) []store.Record {
	var all []store.Record
	for after := ""; ; {
		page, err := e.world.memory.List(context.Background(), store.ListParams{Filter: filter, After: after, Limit: 1000})
		if all = append(all, page.Jobs...); err != nil || page.Next == "" {
			slices.Reverse(all)
			return all
		}
		after = page.Next
	}
}

// nodes lists the nodes that run, of all processes.
func (e *Env) nodes() []store.Node {
	nodes, err := e.world.memory.Nodes(context.Background())
	if err != nil {
		return nil // the test is over
	}
	return slices.DeleteFunc(nodes, func(n store.Node) bool { return !n.DeadAt.IsZero() })
}

// isServed reports whether a node claims the job.
func isServed(nodes []store.Node, r *store.Record) bool {
	kind := r.Kind
	if r.Version != "" {
		kind += "@" + r.Version
	}
	return slices.ContainsFunc(nodes, func(n store.Node) bool { return n.Info.Claims(r.Namespace, r.Queue, kind) })
}

// isPaused reports whether the queue of a job is paused.
func (e *Env) isPaused(id store.ID) bool {
	obstacles, err := e.world.memory.Obstacles(context.Background(), "", id)
	return err == nil && !obstacles.QueuePausedAt.IsZero()
}
