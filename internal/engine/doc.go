// Package engine is what runs in a process that uses Holdfast: the committer through which every write goes, and, on a
// node, the claim loop, the executions, the heartbeat, the promoter and the maintenance duties. It knows databases only
// as a store.Store.
//
// # Parts
//
//	committer   takes whatever waits and commits it as one transaction; a caller returns when its own write is durable
//	portion     how much is sent or asked for at once: less after what took too long, down to one
//	aside       writes for which a caller's transaction has to end first: they wait beside the line, alone
//	starts      jobs enqueued here that run at once, claimed by the commit that inserts them
//	dispatcher  one claim loop for all queues and kinds of the node; asks for as many jobs as there are free slots
//	execution   one run of one job: its context, its progress, its outcome
//	heart       says that the node lives; brings back requests, the leader lease, and the leases that the node holds
//	held        compares those with what the node works on, and gives up what nobody does
//	pulse       tells the leader who is dead, by what it sees itself
//	promoter    makes deferred jobs available when they are due, by a timer on the next due time
//	duties      what the leader does by the clock: rescue, cancel sweep, retention
//	waiters     those who wait for jobs to end: told in process, asked for in one query for all of them otherwise
//	followers   those who read what jobs publish
//	wishes      tell other processes for which jobs this one waits
//	wanted      knows for which jobs the others wait, and tells them the news
//	listening   passes on the wake-ups of others while somebody needs them
//	memory      what one run of a durable function remembers, its strands, and what it is waiting for
//	loader      journals of runs that begin at the same moment, in one query
//	guard       begins again what has panicked, and says so
//	ending      what becomes of an outcome until it is stored
//	log         what is logged of runs, and its keys
//	pen         writes lines for those who must not wait for a logger
//	limiter     keeps a storm of failures from being a storm of lines
//	outage      says that the database does not answer, now and then, and when it answers again
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
// joins again. memory.mu is the one under which code of a run moves on: whoever waits or writes lets go of it meanwhile.
//
// # Imports
//
// Of ours, only store.
package engine
