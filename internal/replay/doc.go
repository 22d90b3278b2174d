// Package replay is durable functions: code whose operations are remembered in a journal, so that
// another attempt, on another node, comes to where the last one was, and how such an attempt ends.
// It needs no node and no database: what it wants from outside is its Host. What the entries of a
// journal hold is told by package internal/journal, what a run remembers while it runs is kept by
// package internal/memory, and what its strands can wait for is told by package internal/await.
//
//	types       what a run consists of: Run, its replay state, its strands, what they wait for
//	heartbeat   a handler, or a step, that makes no progress
//	journal     where the code is in the journal
//	park        who of the strands waits; when all do, the run is parked
//	write       what is to be stored, in order
//	misuse      code that uses its run as it must not
//	operation   how an operation begins, finds its place, waits, and ends
//	step, timer, signal, callback, select, children, strand, values, opentx: the operations
//	update      requests to the run, which its strands handle while they wait
//	condition   conditions over what strands share, looked at while none of them runs
//	compensate  what is undone if the run fails or is cancelled
//	run, end    what an attempt does with its run, and how that ends
//	attempt     calls the handler, and judges what it returns
//	left        what is told to what is around the handler
//
// # What it promises
//
// An operation that the journal knows returns what it returned then, and does nothing. One that it
// does not know acts, and is stored before the next one acts on it. Operations are found by their
// place among those of their strand; code that asks for something else than the journal has ends
// the run, held for a person, and not in confusion. A run all of whose strands wait is parked: its
// goroutines end, and the handler is called again when what it waits for is there.
//
// # When it fails
//
// A write fails: nothing that went on from it is remembered, and the attempt fails. The lease is
// lost: every strand ends at its next operation. A strand panics: its panic is raised again where
// it is awaited, or in the handler.
//
// # The lock
//
// Each run has one lock, replayState.mu. The code of a strand runs beside that of others, except
// after a condition. An operation holds the lock from its beginning to its end, and releases it
// while it waits, writes, or calls the user's code. Methods of replayState, of what is awaited, and
// of strands that take a replayState are called with the lock held.
//
// # Imports
//
// Of ours, store, internal/await, blocked, crowd, heartbeat, host, journal, lifetime, logs, memory,
// misuse, outcome, supervise, tries, unsaid and usercode.
package replay
