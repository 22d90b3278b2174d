// Package news notifies callers that wait for a job to end, or follow what it publishes, in this
// process and in others.
//
//	Hub        the waiters of this process, and what it knows of those of other processes
//	waiters    callers that wait for jobs to end: notified in process; one query polls for all others
//	followers  callers that read what jobs publish
//	wishes     subscriptions: tells other processes which jobs this one waits for
//	wanted     the subscriptions of other processes, and the jobs that recently had news
//	watched    the jobs whose runs other processes watch
//	listening  receives the wake-ups of other processes while they are needed
//
// # Guarantees
//
// A caller that waits for a job that ends in this process is notified by the commit. For a job that
// ends elsewhere this process subscribes: the process that ends the job sends a wake-up, and jobs
// without subscribers cost nothing. A poll for a part of the jobs each second makes up for lost
// wake-ups within five seconds. Without waiters there is no cost.
//
// # Failures
//
// The database is away: waits and follows are retried until it answers. A permanent error ends the
// waits for the jobs that it concerns. Close ends all of them with store.ErrClosed.
//
// # Imports
//
// This package imports store, internal/logs and internal/supervise.
package news
