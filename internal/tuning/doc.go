// Package tuning is what a node knows of what people have set of queues: how their jobs are
// attempted. No job and no claim asks the database for it: a loop reads all of a namespace when a
// wake-up tells that a queue has changed (WakeQueue), and looks now and then without a reason.
//
// # Guarantees
//
// What was set before the node joined is known before its first claim. What is set later holds for
// the attempts that begin, or fail, after the node has heard of it: at once where wake-ups work,
// with the next look elsewhere, or if one was lost.
//
// # Failures
//
// While the database does not answer, what was known last holds.
//
// # Imports
//
// It imports store, and the packages logs and supervise.
package tuning
