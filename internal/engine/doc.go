// Package engine is what runs in a process that uses Holdfast: the committer through which every write goes, and, on a
// node, the claim loop, the executions, the heartbeat, the promoter and the maintenance duties. It knows databases only
// as a store.Store.
//
// # Parts
//
//	committer   takes whatever waits and commits it as one transaction; a caller returns when its own write is durable
//	starts      jobs enqueued here that run at once, claimed by the commit that inserts them
//	dispatcher  one claim loop for all queues and kinds of the node; asks for as many jobs as there are free slots
//	execution   one run of one job: its context, its progress, its outcome
//	beat        says that the node lives; brings back cancel requests and the leader lease
//	promoter    makes deferred jobs available when they are due, by a timer on the next due time
//	duties      what the leader does by the clock: rescue, cancel sweep, retention
//	waiters     those who wait for jobs to end: told in process, asked for in one query for all of them otherwise
//
// # What happens when
//
// The process dies: its node stops beating, another node's rescue takes its jobs. Nothing in memory matters: a job that
// was claimed and not started, or finished and not committed, runs again.
//
// The node is slow and was declared dead: the beat, or any write, says so. Its handlers are cancelled with ErrLeaseLost, whatever they
// return is refused by the store, and the node joins again under a new id.
//
// The database is away: writes wait and are repeated, enqueues for a limited time, outcomes until the lease is lost or the node is
// stopped by force. Handlers go on. A node that could not beat itself gives the others time to beat before it declares anyone dead.
//
// The node stops: it claims nothing more, gives back what has not started, waits for the handlers, then ends their contexts with
// ErrShutdown; what fails because of that is given back without counting. Handlers that do not return even then are left behind.
//
// # Locks
//
// node.mu guards the slots and the executions. committer lanes, waiters and executions have their own; none is held while
// another is taken, nor during a call to the store. Only starts.mu is: nothing starts while the node closes it.
//
// # Imports
//
// Of ours, only store.
package engine
