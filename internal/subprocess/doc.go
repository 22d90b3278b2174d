// Package subprocess runs jobs in processes of any language that a node keeps: it starts them once,
// and each runs one job after the other. What both sides say are lines of JSON, to the standard
// input and from the standard output of the process.
//
//	Parse  the command of a kind, as people write it
//	Start  a pool: the processes of a kind; Register is its handler, Close its end
//
// # The lines
//
// The node says run, with the job, and cancel, when the run has to end. The process says progress,
// heartbeat and log, as often as it likes, and then one of result, error and snooze. Each line has
// the type and names the run that it is about: so a line that comes late, such as the heartbeat of
// a thread, is not taken for one about the next run. What the lines hold is in
// docs/subprocesses.md.
//
// # Guarantees
//
// A process has one run at a time, and a run that is given to a process ends before the next one
// begins. What breaks the rules of the lines ends the run with an error that says so, and the
// process with it, because what it says next could be about anything. So does a process that ends
// within a run. Such a job is tried again as any that fails.
//
// A run that has to end is told to the process, which may still say how the run has ended. After
// two seconds the group of the process gets SIGTERM, after five SIGKILL: that is less than the time
// after which the engine leaves a handler behind.
//
// What has been written to standard error before the end of a run is logged with its job.
//
// Processes end with the pool: their standard input is closed, after two seconds they get SIGTERM,
// after five SIGKILL. If the node is killed, Linux kills the processes; elsewhere they have to end
// when their standard input does, and should do so everywhere, because what they have started
// themselves is not killed then.
//
// # How it fails
//
// A command that cannot be started is an error of Start. Later, and when processes end as soon as
// they have begun, they are started again after a pause that doubles up to ten seconds; one run
// fails for each, so that people see why, and the others wait.
//
// # Order of locks
//
// There is one lock, that of a process's standard error.
//
// # Imports
//
// Of ours, this package imports the root package, internal/access, internal/logs,
// internal/procgroup, internal/valid and store.
package subprocess
