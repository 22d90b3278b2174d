// Package limit bounds how many jobs run at once, and how many start in a time, over all nodes.
//
//	var slack = limit.New("slack", limit.Capacity(5), limit.Kinds("notify", "report"))
//
//	_, err := limit.Sync(ctx, hf, slack) // before hf.Run
//
// A limit is kept in the database, in the namespace of the client. Jobs count in it by their queue
// and kind, from their claim until they end or are parked: those that run, and those that a node
// has claimed and not started. A job may count in several limits; it starts when all have room.
//
//	New, Sync     limits that code declares
//	Set, Delete   limits that are made and changed at run time, as the command line does
//	Get, List     limits, and the nodes that hold their slots
//	FairShare     even parts of the slots for the nodes that want some
//	PerKey, By    so many jobs of each key, such as each customer: at once, and in a time
//	Acquire       a permit of a limit with a rate, for a durable function
//	AcquireContext  the same for other code
//	Drain, Resume  empties a limit with a rate for a time, and takes that back
//	Backlog, BacklogOfKey  how many jobs of a queue, or of each key in it, may wait
//
// # What it promises
//
// All nodes together never run more jobs than a limit has slots, whatever dies, stands still or is
// slow. When the capacity is lowered, what runs goes on, and nothing starts until it is few enough.
// When a limit is made, or what counts in it is changed, that holds for each node as it hears of
// it: at once where wake-ups work, and otherwise within 1.5 s; if a wake-up was lost, with its next
// beat if it knows of a limit already, or else within 30 s. Claims read limits per key themselves.
//
// A limit with a Rate counts jobs when they are claimed: in any time no more than its burst and
// what comes in that time, whatever dies, stands still or is slow. A clock of the database that is
// set forward lets one burst more. That holds for AcquireContext, too; Acquire may be a second
// late, or more where workers always are: see there. The rate of each key of a limit per key holds
// in the same way.
//
// # What it costs
//
// Nothing for a job: nodes hold slots, and claim no more jobs than they hold slots for. A node that
// needs slots which another one holds and does not use gets them after three short transactions. A
// node that needs all the slots that it holds gives none away, whichever node waits, unless the
// limit has a FairShare: then it gives back what is over its part, as its jobs end.
//
// A limit per key costs otherwise. Claims count what runs of the keys of their jobs, with one claim
// of a limit after the other; a job costs its key in its options, eight bytes while it runs, and a
// few rows once if it has to wait. A rate costs a row for each key that was used lately. See
// docs/limits.md.
//
// Bounds of backlogs are of the client that declares them, and stored nowhere: it counts what waits
// when it enqueues, at most four times a second for a queue. See internal/backlog.
//
// # How it fails
//
// By ErrInvalid for a negative capacity, for a weight below 1 or over the capacity, and for a rate
// or a burst that cannot hold; by
// ErrNotFound, ErrConflict and ErrUnavailable as elsewhere. Delete fails with a *store.HeldError,
// which names the nodes that hold slots.
//
// # Imports
//
// Of ours, the root package, store, and internal/access, internal/backlog, internal/declared,
// internal/engine, internal/gcra and internal/valid.
package limit
