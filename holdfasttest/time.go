package holdfasttest

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

const (
	// quiet is how long nothing is written once all that was due is done: longer than any wait of a
	// node that is not a job's own.
	quiet = 5 * time.Millisecond
	// settled bounds how long Advance waits for that, because handlers may write all the time.
	settled = time.Second
	// lookFirst and lookLast bound how often WaitIdle looks if no run writes, as when a job is
	// terminated.
	lookFirst = 10 * time.Millisecond
	lookLast  = time.Minute
	// patience is how long WaitIdle waits.
	patience = 24 * time.Hour
)

// Advance lets d of virtual time pass, and then the few milliseconds that it takes to do what has
// become due. Time also passes by itself while the test waits, such as in Job.Wait.
func (e *Env) Advance(d time.Duration) {
	e.T.Helper()
	if d < 0 {
		e.T.Fatalf("holdfasttest: Advance(%v): time does not go back; give how much is to pass", d)
	}
	// Claims take the lock that this takes, too: so what the test did before Advance happens before
	// what the jobs do that start meanwhile, and the race detector knows.
	e.nodes()
	time.Sleep(d)
	for range settled / quiet {
		e.rest()
		before := e.world.memory.written()
		time.Sleep(quiet)
		if e.rest(); e.world.memory.written() == before {
			return
		}
	}
}

// WaitIdle waits until no job runs and none is due, on all nodes of the test. Jobs that wait for
// their time, a retry, a signal, a callback or a child are left as they are, and so are those that
// no node serves, whose queue is paused, or that wait for the turn of their ordering key. Virtual
// time passes as handlers need it; after a day of it, WaitIdle fails the test.
func (e *Env) WaitIdle() {
	e.T.Helper()
	began, wait := time.Now(), lookFirst
	for {
		e.rest()
		nodes := e.nodes()
		if len(nodes) == 0 {
			e.T.Fatal("holdfasttest: WaitIdle: no node runs that could work the jobs; call Start before")
		}
		busy := slices.DeleteFunc(e.unfinished(), func(r store.Record) bool { return !e.isDue(nodes, &r) })
		switch {
		case len(busy) == 0:
			return
		case time.Since(began) > patience:
			e.T.Fatalf("holdfasttest: WaitIdle: after %v of virtual time there still are jobs that run or are due; "+
				"end what their handlers wait for before WaitIdle, or use Advance instead:%s", patience, e.describe(busy))
		}
		select {
		case <-e.world.memory.wrote:
			wait = lookFirst
		case <-time.After(wait):
			wait = min(2*wait, lookLast)
		}
	}
}

// isDue reports whether a job runs, or will as soon as a node comes to it.
func (e *Env) isDue(nodes []store.Node, r *store.Record) bool {
	switch r.State {
	case store.Running:
		return true
	case store.Available:
		return !r.Blocked && isServed(nodes, r) && !e.isPaused(r.ID)
	default:
		return !r.RunAt.IsZero() && !r.RunAt.After(e.world.memory.Now())
	}
}
