// Package engine runs jobs in a process that uses Holdfast. It has an Engine, and a Runner for each
// namespace whose jobs the process runs. A Runner has the handlers and, while it runs, the node:
// the claim loop, the executions, the heartbeat, the promoter and the maintenance duties. It knows
// databases only as a store.Store.
//
// # Parts
//
// Parts that need no node are packages of their own: internal/commit, the group commit;
// internal/replay, durable functions; internal/loader, what they read; internal/news, waiting for
// jobs; internal/slots, what a node runs and may claim; internal/grants, its slots of limits;
// internal/promoter, which makes due jobs available; internal/pulse, the failure detector;
// internal/ping, probes; internal/outcome, outcomes. This package has the engine, which ties them
// to a store, and the node.
//
//	types       the structs of an engine and a node
//	starts      fast start: an enqueue claims its own job in the same commit
//	dispatcher  the claim loop for all queues and kinds of the node; claims as many jobs as there is room for
//	execution   one attempt of one job, in its slot
//	outcome     the outcome of a job, from what its handler returned
//	stuck       handlers that ignore the end of their context
//	host        what an attempt provides to its durable function
//	beat        the heartbeat; it returns requests, the leader lease, and the leases that the node holds
//	held        compares those leases with what the node works on, gives up leaked ones, and tells runs that have lost theirs
//	duties      periodic duties of the leader: rescue, cancel sweep, retention
//	maintain    the duties done once, by a process that is no node otherwise
//	ending      an outcome on its way to the store
//	report      logging of runs
//	unserved    logs jobs that no living node serves
//
// # Failures
//
// The process dies: its heartbeats stop, and another node rescues its jobs. Nothing in memory
// matters: a job that was claimed and not started, or finished and not committed, runs again.
//
// The node is slow and was declared dead: it learns so from its next beat or write. Its handlers
// are cancelled with ErrLeaseLost, the store refuses their outcomes (fencing), and the node joins
// again under a new id.
//
// The database loses the last of what it has confirmed, as in a failover to a standby that was
// behind: runs whose claims it has lost are cancelled with ErrLeaseLost, after two beats.
//
// A part of this package panics: the guard logs the panic with its stack and restarts the loop,
// with a backoff. An operation that was interrupted fails, is retried, or is found by held.
//
// A caller's transaction locks what a write needs: the store returns ErrBusy for that write, which
// is retried on the side. Outcomes are retried until they can be written or their lease is lost,
// enqueues and messages for 15 seconds.
//
// The database is away: writes are retried, enqueues for a limited time, outcomes until the lease
// is lost or the node is stopped by force. Handlers go on. A leader whose own beats failed gives
// the other nodes time to beat before it declares any of them dead.
//
// The node stops: it stops claiming, gives back what has not started, waits for the handlers, then
// ends their contexts with ErrShutdown; attempts that fail because of that are given back and do
// not count. Handlers that still do not return are abandoned.
//
// A handler has returned, and strands of its run go on: each ends at its next operation. A strand
// that ignores its context for StuckAfter is abandoned, and the run ends as it would have.
//
// # Locks
//
// Each part that goroutines share has one mutex, held briefly; no mutex is held while another is
// taken, nor during a call to the store. There are two exceptions: starts.mu, so that nothing
// starts while the node closes it, and node.joins, so that one goroutine at a time joins again.
//
// # Imports
//
// This package imports store and the packages named above, and internal/logs, portion, supervise
// and usercode.
package engine
