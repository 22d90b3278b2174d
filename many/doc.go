// Package many has handlers that work several jobs of a kind at once: rows for one INSERT, messages
// for one request, keys for one query.
//
//	err := many.Handle(hf, Insert, 500, 0, func(rows []*many.Run[Row, int]) error {
//		…
//	})
//
// It is Kind.Handle otherwise: the same options, and jobs that are enqueued, cancelled, retried and
// waited for like any other.
//
// # What a batch is
//
// Up to so many jobs as the handler wants, which are due and that one node has claimed together;
// and those that it gets within the time for which the handler waits for more. Each job takes a
// slot of the node, so a batch is never larger than the slots (WithSlots), or those of the jobs'
// queue. Which jobs come together is not promised. They are in the order in which they were
// claimed.
//
// # What stays each job's own
//
// Its lease, attempt, timeout, deadline, cancel, progress and checkpoint, and its outcome
// (Run.Return). Each counts its own attempt and is retried by itself, in whatever batch comes. The
// time for which it waits for others is a part of its timeout. A job whose context ends before the
// batch begins is not in it. One whose context ends later is told by its own Run, which is its
// context; the handler decides what that means for the others.
//
// # How it fails
//
// An error that the handler returns, and a panic, are the outcome of each job that has none of its
// own: as if a handler of single jobs had returned it, or panicked. Jobs that have an outcome keep
// it. If the process dies, all of its jobs run again, as they are at least once.
//
// # What jobs of a batch cannot do
//
// They are plain: operations of durable functions, such as steps and signals, need a run, and a Run
// of this package is none. RunFrom finds no run in its context.
//
// # Middleware
//
// Middleware is called for each job by itself, in a goroutine of its own, as around any handler;
// its next returns when the batch has been worked, with the outcome of its job. Middleware that
// does not call next ends its job without the batch. One that takes long to call next holds up the
// batch for a second at the most: then the others begin without its job.
//
// # Imports
//
// Of ours, the root package, store, and internal/access, internal/gather and internal/usercode.
package many
