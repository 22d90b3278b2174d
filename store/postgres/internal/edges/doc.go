// Package edges lets jobs wait for others (store.Dependency): it finds out which of their
// predecessors have not finished, and writes down for which a job waits, and that these are to be
// looked at. What delivers their ends is in package operate.
//
// Who lets a job wait has locked its body, or inserts it. Nothing is waited for but the edges of
// the same job.
//
// # Imports
//
// Package store, package pg and pgx.
package edges
