// Package crashtest kills nodes and looks whether anybody notices. It has no code of its own.
//
// Its tests start worker processes, which are the test binary again (see TestMain), on one database, and end them with SIGKILL at
// random moments, or freeze one with SIGSTOP until it is declared dead and thaw it. The handlers write what they do to a file outside of
// the database. When everything has finished, verify compares three things: what was planned, what the file says was
// done, and what the database says.
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
//   - No loss: each job that an enqueue returned has finished, as it was planned.
//   - One owner: each lease number of a job occurs once and belongs to one node; they grow. Each was ended by an attempt on record, or is
//     the one that finished the job; none is missing.
//   - The run that finished the job has its effect in the file, and its result in the database.
//   - More than one effect is explained: each further one belongs to an attempt on record that ended with node_lost, error or snoozed, and
//     error and snoozed were planned.
//   - A checkpoint that was saved is there for every later run. What a run saves after its lease was taken is refused.
//   - Order: a job of an ordering key starts after the one before it has finished.
//   - Unique is unique: however often a key is enqueued, from however many processes that die, there is one job.
//
// The tests print their seed. HOLDFAST_CRASHTEST_SEED repeats its plan and its victims, if not the moments.
package crashtest
