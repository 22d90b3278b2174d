// Package store is the contract between Holdfast's engine and a database. Whatever can be promised
// about durability is said here, once; package storetest checks it on every implementation.
//
// # Shape
//
// The contract speaks of transitions in batches, not of queries. Each method that writes is one
// transaction: after it returns nil everything it says has happened is durable, and if the process
// dies in the middle nothing of it has happened. There is no method whose effect is half of a
// transition. What people ask for many jobs at once (Cancel, Retry, PauseJobs) may be one
// transaction for each thousand of them, and the sweep of cancels one for each request.
//
// A job is an immutable body and one pointer. The state of a job is where its pointer is, and is
// never stored twice:
//
//	available         ready, or keyed while it waits for the turn of its ordering key
//	scheduled,
//	retryable,
//	waiting           deferred, with the time at which it is due
//	running           a slot of a claim record
//	completed,
//	failed, cancelled finished
//
// The transitions between the states are the table in state.go.
//
// # Leases
//
// A claim record belongs to a node and lists the jobs that one claim took; a job's Lease names the
// record, the slot in it, and the job's lease number, which grows with each claim and never
// repeats. Every write by a run carries its Lease. The write is applied only while the record
// exists and the slot is not done; otherwise nothing changes and the operation fails with
// ErrLeaseLost. A node may claim only while it is alive; rescue first marks the node dead and then
// takes its records, so that a node that is slow, not dead, can write nothing any more.
//
// # Repeating
//
// A connection can break between the commit and its acknowledgement. Then the caller does not know,
// and asks again: an enqueue with the same id is done once and succeeds twice; a claim with the
// same node and sequence returns the jobs that it took; an Outcome with Repeat set is recognised as
// already applied; a signal that goes along with an enqueue (Enqueue.Send) is sent once. Nothing
// else is repeated blindly.
//
// # Namespaces
//
// A namespace is where jobs, queues and keys live, and a fence: what names jobs by their ids names
// a namespace, too, and a job of another one is not there for it, in operations and reads alike. A
// job never changes its namespace. "" is any, for what an engine does for all; what runs write is
// fenced by their leases.
//
// # Time
//
// A store has one clock: the database's on PostgreSQL, the process's on SQLite, or an injected one
// in tests. Every operation reads it by itself; Now tells it. Times are kept as int64 microseconds
// since 1970 and are truncated to them on the way in.
//
// # Errors
//
// Every error wraps one of the sentinels of errors.go or is the context's. Unavailable errors may
// be retried as they are; an operation that fails with ErrUnavailable may or may not have happened,
// see Repeating.
//
// # Imports
//
// This package imports nothing of ours, starts no goroutines, and knows no SQL.
package store
