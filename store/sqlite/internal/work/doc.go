// Package work is what happens to single jobs: what a batch applies, what a claim takes, and what
// people ask of a job.
//
//	apply, enqueue, unique, key, start   jobs come, and may run at once
//	claim, checkpoint                 jobs are handed to nodes
//	finish, ends, answers, children   runs end, and who waits for that is told
//	journal, appends, entries         steps of durable functions
//	inbox, wait                       messages, and jobs that wait for them
//	generation                        functions that continue as new
//	cancel, requests, hold, operate   cancel, pause, resume and retry
//	callers                           the same, and ends from outside, in callers' transactions
//	promote, await                    what is due, and who waits for a caller's transaction
//
// # How it works
//
// That there is one writer is used throughout: a claim reads the heads of the lanes and then
// deletes them by range, an end of a run reads its claim record and writes what it decided.
//
// A step of a durable function is one insert into the journal: the fence is the claim record, which
// a transaction reads once for all that it holds, and the insert itself finds a number that is
// taken or leaves a gap. A park writes the pointer of a waiting job, which says all that wakes it;
// a message reads its job, that pointer and the last message in one statement, adds itself, and
// moves the pointer if it must. There is one writer, so that no message slips between the look of a
// park and its pointer. The lane of a job that is bound to a version of its kind is that of the
// kind "kind@version", so that a claim knows nothing of versions.
//
// A job that is held has its pointer at the end of time, while its body keeps its run time; all
// other pointers are where the body says.
//
// # When it fails
//
// What a run writes, and what is Required, refuses the whole batch if it cannot be written, and its
// Err says why. Other sends and enqueues are answered one by one. An error that is returned ends
// the transaction: nothing of it has happened.
//
// # Imports
//
// Of ours, store, core, db, generations, keys and updates.
package work
