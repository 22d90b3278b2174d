// Package operation changes all jobs that a filter selects: cancels, retries, pauses, resumes,
// moves, tags or deletes them, or sets their priority.
//
//	filter := store.Filter{States: []store.State{store.Failed}, Kinds: []string{"mail"}}
//	found, err := operation.Look(ctx, hf, filter)       // how many, and some of them
//	id, err := operation.Start(ctx, hf, operation.Operation{
//		Filter: filter, Action: operation.Retry(), Note: "the relay is back", Expected: found.Count.N,
//	})
//	done, err := operation.Wait(ctx, hf, id)            // done.Counts
//
// An operation is a job, of a kind of Holdfast's own, which each node handles: it survives the
// process that started it and the nodes that work on it, and is cancelled, paused, listed and
// explained like any other job. Run does the same in the calling process, without a job and without
// a node.
//
// # What it promises
//
// The jobs are those of the client's namespace that were created before the operation was started
// (by the time in their ids), in the order of their ids, newest first. Of these, each that matches
// the filter from the start until the operation comes to it is changed, once. One that comes to
// match meanwhile, or ceases to, may be changed or not. The operation ends: what is enqueued after
// its start it does not look at.
//
// The place in that order and the counts are kept before each page, which is 500 jobs, or 100 where
// each is changed by itself. If a process dies in a page, the next run asks each job of it whether
// the operation has changed it, so no job is changed twice and the counts are exact. Two
// exceptions: of a deletion, a job of that page which is gone counts as deleted; and a node that
// was declared dead and is not may still change jobs of its page, as changes of other jobs are not
// fenced by the operation's lease.
//
// Each change is recorded with its job as that of the person who started the operation, and its
// reason names the operation and the note.
//
// In a namespace one operation runs at a time, in the order in which they were started; they wait
// for each other as jobs with an ordering key do. So two over the same jobs do not mix, and all of
// them take one slot of one node. Run does not wait for them.
//
// Operations, and the jobs of other namespaces, are left alone. A filter is about operations only
// if it names their kind (Kind) or their ids.
//
// # How it ends early
//
// A cancel of the operation ends it after the page that it is at. Pausing its job holds it there,
// until the job is resumed; a pause of its queue (Queue) keeps operations from beginning. If more
// jobs match than Operation.Expected says, by more than an eighth and 100, it fails, before it
// changes more than that many: a count that is small enough is made before the first change. If the
// database does not answer it is retried like any job, and goes on where it was.
//
// # Imports
//
// Of ours, the root package, store, internal/access and internal/bulk.
package operation
