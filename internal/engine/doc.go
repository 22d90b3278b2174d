// Package engine is what runs in a process that uses Holdfast: an Engine, and a Runner for each
// namespace whose jobs the process runs. A Runner has the handlers and, while it runs, the node: the
// claim loop, the executions, the heartbeat, the promoter and the maintenance duties. Databases are
// known only as a store.Store.
//
// # Parts
//
// What needs no node is in packages of its own: internal/commit, the group commit; internal/replay, durable functions; internal/news, who
// waits for jobs. Here is the engine, which ties them to a store, and the node.
//
//	types       what an engine and a node consist of
//	starts      jobs enqueued here that run at once, claimed by the commit that inserts them
//	dispatcher  one claim loop for all queues and kinds of the node; asks for as many jobs as there is room for
//	slots       the jobs that the node runs, and those that it has claimed ahead
//	execution   one attempt of one job, in its slot
//	outcome     what becomes of a job, by what its handler has returned
//	stuck       handlers that ignore the end of their context
//	host        what an attempt does for its durable function
//	beat        says that the node lives; brings back requests, the leader lease, and the leases that the node holds
//	held        compares those with what the node works on, and gives up what nobody does
//	pulse       tells the leader who is dead, by what it sees itself
//	promoter    makes deferred jobs available when they are due, by a timer on the next due time
//	duties      what the leader does by the clock: rescue, cancel sweep, retention
//	loader      journals of runs that begin at the same moment, in one query
//	ending      what becomes of an outcome until it is stored
//	report      what is logged of runs
//	unserved    tells of jobs that no living node serves
//
// # What happens when
//
// The process dies: its node stops beating, another node's rescue takes its jobs. Nothing in memory matters: a job that
// was claimed and not started, or finished and not committed, runs again.
//
// The node is slow and was declared dead: the beat, or any write, says so. Its handlers are cancelled with ErrLeaseLost, whatever they
// return is refused by the store, and the node joins again under a new id.
//
// A part of this package panics: the guard logs it with its stack and begins the loop again, with a backoff. What an operation
// was in the middle of is failed, repeated, or found by held.
//
// A caller's transaction holds what a write needs: the store says ErrBusy of that one, which waits aside. Outcomes wait until
// they can be written or their lease is lost, enqueues and messages for 15 seconds.
//
// The database is away: writes wait and are repeated, enqueues for a limited time, outcomes until the lease is lost or the node is
// stopped by force. Handlers go on. A node that could not beat itself gives the others time to beat before it declares anyone dead.
//
// The node stops: it claims nothing more, gives back what has not started, waits for the handlers, then ends their contexts with
// ErrShutdown; what fails because of that is given back without counting. Handlers that do not return even then are left behind.
//
// A handler has returned, and strands of its run go on: each ends at its next operation. Whoever ignores its context for StuckAfter is left
// behind, and the run ends as it would have.
//
// # Locks
//
// Each part that goroutines share has one mutex, held for moments; none is held while another is taken, nor during a call to the
// store, but for two: starts.mu, under which nothing starts while the node closes it, and node.joins, under which one goroutine
// joins again.
//
// # Imports
//
// Of ours, store and the packages named above, and internal/logs, portion, supervise and usercode.
package engine
