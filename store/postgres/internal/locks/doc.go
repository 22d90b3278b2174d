// Package locks takes the bodies of jobs that no transaction of a caller holds, and says which it
// could not have: nothing waits for a transaction that may last.
//
// # Imports
//
// Package store, package pg and pgx.
package locks
