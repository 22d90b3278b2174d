// Package crashtest kills nodes and looks whether anybody notices. It has no code of its own.
//
// Its tests start worker processes, which are the test binary again (see TestMain), on one
// database, and end them with SIGKILL at random moments, or freeze one with SIGSTOP until it is
// declared dead and thaw it. Meanwhile jobs are enqueued, cancelled and retried. The handlers write
// what they do to a file outside of the database. When everything has finished, verify compares
// three things: what was planned and asked, what the file says was done, and what the database
// says.
//
// That is what plain jobs do. TestFlows does the same with durable functions, of which the second
// half of this page tells.
//
// # What a run tells the file
//
// Each record is of the same length, a divisor of the page size, and written by one appending
// write, so that records of several processes never mix and a kill never leaves half of one. A
// record names the job, the lease number, the attempt, the node and the process:
//
//	start       the handler was called, with the checkpoint of this stage
//	checkpoint  a checkpoint of this stage was saved, says the store
//	refused     the store refused a checkpoint because the lease was lost
//	effect      what the job is there for was done; the handler returns after it
//
// # What must hold
//
// The names are those of the design. Limits and callbacks are not there yet.
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
//   - FinishedIsFinal: a job that has finished gets no further lease, unless a person retries it, which is on record; then its
//     attempts are counted again.
//   - UniqueIsUnique: however often a key is enqueued, from however many processes that die, there is one job.
//   - EveryDueThingHappens: what is delayed, snoozed or retried runs, and not before its time by the clock of the database.
//   - Order: a job of an ordering key starts after the one before it has finished. Others start by priority, run time and enqueue.
//   - CancelArrives: a job that was cancelled is cancelled, unless the outcome of the run that it had then came first. No other run starts.
//
// How soon things happen is not measured here but in virtual time, by the tests of the engine.
// Waits have limits for tests that hang.
//
// # Servers
//
// TestServersDie does it where nodes and those who enqueue know nothing but one address, behind
// which two servers stand (store/remote): the servers are killed, both at once now and then, and
// the nodes. The killing of a server rescues no job: the same must hold.
//
// # Flows
//
// TestFlows plays rounds of a storm: flows, which are durable functions, with errands, which are
// not, beside them and below them. A flow is a random list of operations: steps with effects
// outside, of which some fail now and then, or always; steps with a StepTx, some with a time limit
// that ends while they commit; charges, which are undone if the flow fails; sleeps; signals,
// awaited with and without a limit, and against a timer; pledges, which are signals whose arrival
// is undone if the flow fails; children, one or several; strands. Some flows fail, some fail at
// first, some continue as new, some have no end but being cancelled, and some contradict their
// journal whenever they run.
//
// Three processes run them. One fault follows the other: processes are killed, or frozen until they
// are declared dead and thawed, those that lead more often; PostgreSQL ends without a shutdown and
// starts again. Beside that two operators pause, resume, cancel, terminate, fork and retry whatever
// comes to their minds, and signals are sent again and again, each under its key.
//
// Then the faults and the requests end, and all must come to rest: each job has finished,
// is held by a person, or waits for what the plan says does not come. At last what is held is
// resumed, what has no end is cancelled, and everything must finish.
//
// The file tells what was done, as above, with other events: a run says under which lease it begins
// and leaves, what a step did, and that it was remembered, which it is when it has returned. The
// operators write there, too, before they ask and when they have their answer, so that it is known
// which runs began in between. A StepTx writes a row of a table that nothing keeps from having it
// twice. verifyFlows compares the plan, what was asked and sent, the file, the rows, the records,
// the journals and the inboxes.
//
//   - NoLoss: each job that was enqueued, forked or called is there, once, with its args. It ends
//     as planned, or as requested; if it has completed, then with all of its steps, and with
//     the result of its last run.
//   - OneOwner: a lease is given to one run, which is taken from dead nodes only. Runs follow one
//     another: when the next one has begun the one before does nothing outside any more, but on a
//     node that lived when it was declared dead, or in a strand that it left behind. The entries of
//     a journal were written under leases that do not shrink: none was accepted from a run that had
//     lost its lease.
//   - RememberedIsRemembered: when a step is remembered, by what its run was told or by what the
//     journal says, it has no further effect, under this lease or a later one; in a fork, too. What
//     is remembered is what was done.
//   - FinishedIsFinal: a job that has finished does not run again unless it is retried, and its
//     journal is at its end.
//   - ExactlyOnce: the journal has a StepTx if and only if the table has its row, of the same
//     lease, once.
//   - Undone: a flow that failed or was cancelled has undone the charges and pledges that it
//     remembered when its end was decided, and no others, each once, in reverse order within a
//     strand; nothing else is done after that. One that has completed has undone nothing, and one
//     that was terminated need not have.
//   - ChildrenAnswer: a child that has finished has answered, once for each time that it did; and a
//     flow was told what a child has answered.
//   - OncePerKey: a message that was sent is in the inbox, once for its key, and is received at one
//     place at the most.
//   - EveryDueThingHappens: no run goes on from a sleep or a snooze before its time; that they go
//     on is told by:
//   - NothingIsStuck: at the end nothing is under way without anybody who works on it, waits for
//     what has arrived, is held without a reason, or is tried again and again without an end.
//   - CancelArrives: a run that begins when a flow was asked to end does nothing new. It ends, by
//     the rule above.
//   - PauseHolds: a job that is held does not run.
//   - AtMostOnce: a job of a kind that is tried once, says its handler, is tried once, also where
//     the process that takes it from a dead node does not know the handler.
//   - ActionsAreRecorded: what persons did is on record, and nothing else.
//
// When a rule is broken the test tells the stories of some of the jobs: what is known of them, in
// order.
//
// TestStorm is a short round for each commit, in which PostgreSQL does not crash, as all packages
// share its server. The others are for the soak, which has another seed in each of its rounds:
//
//	scripts/soak --for 1h TestFlows
//
// # Seeds
//
// The tests print their seed. HOLDFAST_SEED repeats its plan and its victims, if not the moments.
package crashtest
