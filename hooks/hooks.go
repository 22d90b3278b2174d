// Package hooks has the events in the lives of jobs, runs and nodes, of which a program can be
// told:
//
//	hf, err := holdfast.Open(ctx, source, holdfast.WithHooks(hooks.Hooks{
//		Finished: func(e hooks.Finished) { metrics.Count(e.Kind, e.State) },
//	}))
//
// A hook is told what has happened, after it was committed, and changes nothing about it. One
// goroutine of the client tells all hooks, one event after the other, from a queue of 10,000
// events. Neither jobs nor Stop wait for it; Close waits for a second at most. When hooks are so
// slow that the queue is full, events are dropped, which is logged and counted
// (Health.HooksDropped). A panic of a hook is logged. A hook that never returns keeps all hooks
// from being told. A hook may use the client.
//
// # What is told, and by which process
//
// Each event is told once, by the process that made it happen: the one that has enqueued the job,
// runs it, has cancelled it, or has found its node dead. What a process was about to tell when it
// died is not told, and neither is what it did in a call whose answer was lost.
//
// Each run is told as Started, and at its end as one of Retried, Parked and Finished; if its node
// has died, as Rescued by another process; and not at all if its job was terminated. Each end of a
// job is told as Finished, whichever way it came about. If the end was not that of a run, the event
// was completed by reading the job, and lacks its queue and kind if that fails.
//
// The events of one job usually come in their order. Those that different processes tell, and the
// end of a run and the beginning of the next one, may come the other way round.
//
// What is done in a transaction of the caller is not told, because it may be rolled back: a job
// that is enqueued there not as Enqueued, and one that is cancelled or finished there not as
// Finished. A fork is not told either.
//
// # Imports
//
// Of ours, store.
package hooks

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// QueueSize is how many events wait for hooks at the most.
const QueueSize = 10_000

// Hooks are the functions that are told of events. Nil ones are not.
type Hooks struct {
	Enqueued func(Enqueued)
	Started  func(Started)
	Retried  func(Retried)
	Parked   func(Parked)
	Finished func(Finished)
	// DeadLetter is told beside Finished, and after it: as soon as the database has said whether
	// the group is new, which no other event waits for.
	DeadLetter func(DeadLetter)
	Rescued    func(Rescued)
	NodeDied   func(NodeDied)
}

// Job is the job of an event.
type Job struct {
	ID        store.ID
	Namespace string
	Queue     string
	Kind      string
}

// Run is the run of an event.
type Run struct {
	Job

	Attempt int   // the first is 1
	Lease   int64 // the number of its lease, which grows with each run of the job
	Node    int64 // that ran it
}

// Enqueued is told when a job was stored that did not exist before: by an enqueue, or as the child
// of a run.
type Enqueued struct {
	Job

	At     time.Time
	Parent store.ID    // of a child
	State  store.State // Available, Scheduled, or Running: it has started with its enqueue
	RunAt  time.Time   // when it is due
}

// Started is told when a run has begun, also when a parked run goes on.
type Started struct {
	Run

	At     time.Time
	Waited time.Duration // for its start, since the job was due or enqueued, whichever came later
}

// Retried is told when a run has ended and its job is to run again by itself: its attempt failed,
// it snoozed, its node stopped and gave it back, or it continues as new.
type Retried struct {
	Run

	At        time.Time
	Took      time.Duration // the run, measured in the process, whatever clock is set meanwhile
	State     store.State   // Retryable, Scheduled or Available
	Reason    store.Reason  // such as error, timeout, snoozed or released; "" if it continues as new
	Error     string
	Trace     string    // the stack of a panic
	RunAt     time.Time // when it is due
	Continued bool      // as new: with other args and an empty journal
}

// Parked is told when a run has ended because all of it waits, a person paused it, or its code
// contradicts its journal.
type Parked struct {
	Run

	At     time.Time
	Took   time.Duration // as that of Retried
	Until  time.Time     // when it goes on at the latest; zero: no time limit
	Held   bool          // until a person resumes it
	Reason store.Reason  // of a held one: paused or nondeterminism
	Error  string        // of one that contradicts its journal
}

// Finished is told when a job has finished.
type Finished struct {
	Job

	At      time.Time
	Attempt int           // the last one; 0: none, or not known
	State   store.State   // Completed, Failed or Cancelled
	Reason  store.Reason  // of one that did not complete
	Error   string        // of its last run, or the reason of the cancel
	Took    time.Duration // the run that finished it; 0: no run did
	// Fingerprint of one that failed is the same for failures that are alike: a dead letter's group
	// (package dead). 0: it has none.
	Fingerprint int64
}

// DeadLetter is told when a job has failed for good, which makes its group of dead letters (package
// dead) grow, or a new one. A group is its kind's failures with one Fingerprint; 0 is the group of
// those that no run has reported, such as when nodes died with them.
type DeadLetter struct {
	Finished

	// New: the group is new, as far as the database tells: its first failure that is there now was
	// this one, or one of some seconds before that another process tells of. Each process tells it
	// of a group once in ten minutes at most. It is false, too, if the database could not be asked.
	New bool
}

// Rescued is told when a job was taken from a node that has died, or that has lost track of it. If
// that finished the job, it is told as Finished, too.
type Rescued struct {
	Job

	At     time.Time
	Node   int64        // that ran it
	State  store.State  // Retryable, Available, Waiting, Failed or Cancelled
	Reason store.Reason // such as node_lost or crash_loop
	RunAt  time.Time    // when it is due, if it runs again
}

// NodeDied is told by the node that has declared another one dead.
type NodeDied struct {
	At   time.Time
	Node int64
}
