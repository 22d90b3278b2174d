// Package commit is the group commit of a process: every write of the engine goes through its Committer, which takes whatever waits
// and commits it as one transaction of the store.
//
//	op         what one caller wants to have committed
//	lane       a queue of ops that are committed together
//	line       the worker of a lane: what it has taken and not yet committed
//	gather     waits for a moment for those whom the last commit has answered
//	aside      ops for which a caller's transaction has to end first: they wait beside the lane, alone
//	Starting   enqueues whose jobs run as soon as they are committed
//
// # What it promises
//
// A caller returns when its own write is durable, or with an error that says whether it may have happened. A lone write is committed at
// once. Writes of runs are repeated until the store answers, enqueues and messages for Parts.Patience. A repeated write is recognised by
// the store and happens once. An op that the store refuses does not keep the others of its batch from being committed.
//
// # When it fails
//
// The database is away: ops wait and are repeated, with a backoff. A batch takes too long: the next ones are smaller (package portion). A
// panic of the store or of this package: what was in hand is tried one by one, or answered with supervise.ErrPanicked.
//
// # Imports
//
// Of ours, store, and internal/logs, portion and supervise.
package commit
