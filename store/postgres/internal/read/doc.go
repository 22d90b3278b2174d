// Package read answers questions: what is known of a job, of many, of queues, nodes and journals.
//
// # What it promises
//
// Each question is answered from one snapshot, in one round trip where that is possible, and locks
// nothing. A caller that is bound to a namespace is told nothing of the jobs of others, not even
// that they are there. What a question costs is bounded, however many jobs there are.
//
// # When it fails
//
// A job that is not there is store.ErrNotFound; all else is as PostgreSQL said it. Package postgres
// gives errors their class.
//
// # Imports
//
// Package store, packages pg and local, and pgx.
package read
