// Package builtin has the kinds that the holdfast binary can run with no Go code of the user's: exec, a command, and http, a
// request. They are ordinary kinds on the public API and show how such kinds are written.
//
// # What they promise
//
// Both run at least once: a node that dies in the middle leaves the job to another one, which begins again. So both tell the other
// side who is calling: exec in the environment (HOLDFAST_JOB_ID, HOLDFAST_ATTEMPT, HOLDFAST_LEASE), http in the header
// Idempotency-Key, which is the job's id and the same in each attempt.
//
// What cannot become better by trying again fails at once: a command that is not there, a request that is answered with most of
// the 4xx. Everything else is retried as the job says.
//
// # Who may use them
//
// Whoever can enqueue an exec job can do what the worker's user can do. It is registered only where somebody asked for it. Whoever can
// enqueue an http job can reach what the worker can reach.
//
// # Imports
//
// Of ours, only the root package.
package builtin
