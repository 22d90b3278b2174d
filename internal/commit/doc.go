// Package commit is the group commit of a process: every write of the engine goes through its
// Committer, which takes all waiting writes and commits them as one transaction of the store.
//
//	op         the writes of one caller
//	backlog    a queue of ops that are committed together
//	worker     commits a backlog: the ops that it has taken and not yet committed
//	delay      waits a moment for the callers that the last commit has answered
//	aside      ops that are blocked by a caller's transaction, and retried apart from the backlog
//	Starting   fast path: enqueues whose jobs start in the commit that inserts them
//
// # Guarantees
//
// A caller returns when its own write is durable, or with an error that says whether it may have
// happened. A lone write is committed at once. Writes of runs are retried until the store answers,
// enqueues and messages for Parts.Patience. Retries are idempotent: the store recognises a repeated
// write. A batch is all or nothing for the store: if it refuses some ops, the others are committed
// without these.
//
// # Failures
//
// The database is away: ops are retried with a backoff. A batch takes too long: the next ones are
// smaller (package portion). A panic of the store or of this package: the ops in progress are tried
// one by one, or answered with supervise.ErrPanicked.
//
// # Imports
//
// This package imports store, and internal/logs, portion and supervise.
package commit
