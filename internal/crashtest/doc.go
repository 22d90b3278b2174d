// Package crashtest kills nodes and looks whether anybody notices. It has no code of its own.
//
// Its tests start worker processes, which are the test binary again (see TestMain), on one database, and end them with SIGKILL at
// random moments, or freeze one with SIGSTOP until it is declared dead and thaw it. Meanwhile jobs are enqueued, cancelled and
// retried. The handlers write what they do to a file outside of the database. When everything has finished, verify compares three
// things: what was planned and asked, what the file says was done, and what the database says.
//
// # What a run tells the file
//
// Each record is of the same length, a divisor of the page size, and written by one appending write, so that records of several
// processes never mix and a kill never leaves half of one. A record names the job, the lease number, the attempt, the node and the process:
//
//	start       the handler was called, with the checkpoint of this stage
//	checkpoint  a checkpoint of this stage was saved, says the store
//	refused     the store refused a checkpoint because the lease was lost
//	effect      what the job is there for was done; the handler returns after it
//
// # What must hold
//
// The names are those of the design. Limits, journals, timers and callbacks are not there yet.
//
//   - NoLoss: each job that an enqueue returned has finished, as it was planned. One that was enqueued in a caller's transaction is there
//     if and only if the rest of the transaction is, whether the caller committed it, rolled it back or was killed.
//   - OneOwner: each lease number of a job occurs once and belongs to one node; they grow. Each was ended by an attempt on record, or is
//     the one that finished the job; none is missing. What a run saves after its lease was taken is refused.
//   - A node is declared dead when it was silent for long enough, or, where a kill is known at once, when it was killed; and jobs are
//     taken from dead nodes only.
//   - The run that finished the job has its effect in the file, and its result in the database. More than one effect is explained: each
//     further one belongs to an attempt on record that was cut short, or that ended as planned and then has exactly one.
//   - RememberedIsRemembered: a checkpoint that was saved is there for every later run.
//   - FinishedIsFinal: a job that has finished gets no further lease, unless somebody retries it, which is on record; then its
//     attempts are counted anew.
//   - UniqueIsUnique: however often a key is enqueued, from however many processes that die, there is one job.
//   - EveryDueThingHappens: what is delayed, snoozed or retried runs, and not before its time by the clock of the database.
//   - Order: a job of an ordering key starts after the one before it has finished. Others start by priority, run time and enqueue.
//   - CancelArrives: a job that was cancelled is cancelled, unless the outcome of the run that it had then came first. No other run starts.
//
// How soon things happen is not measured here but in virtual time, by the tests of the engine. Waits have limits for tests that hang.
//
// The tests print their seed. HOLDFAST_CRASHTEST_SEED repeats its plan and its victims, if not the moments.
package crashtest
