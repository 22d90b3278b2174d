// Package builtin has the kinds that the holdfast binary runs without Go code of the user: exec, a
// command, and http, a request. They are ordinary kinds on the public API and show how to write
// such kinds.
//
// # Guarantees
//
// Both run at least once: if a node dies, another one starts the job from the beginning. So both
// identify the run to the other side: exec in the environment (HOLDFAST_JOB_ID, HOLDFAST_ATTEMPT,
// HOLDFAST_LEASE), http in the header Idempotency-Key, which is the job's id and the same in each
// attempt.
//
// Errors that a retry cannot fix fail the job at once: a command that does not exist, or a response
// with most of the 4xx. All others are retried as the job says.
//
// # Security
//
// A client that can enqueue an exec job can do what the worker's user can do, so exec is registered
// only on request. A client that can enqueue an http job can reach what the worker can reach.
//
// # Imports
//
// Of ours, the root package, internal/access, internal/outbound and internal/procgroup.
package builtin
