// Package choosing decides of which lanes a claim takes jobs.
//
// # How it works
//
// It looks at the first job of each lane that has work, and merges the lanes by effective priority
// and run time, of which it reads pointers alone. The lanes of jobs with fair keys are merged as
// one, in which they take turns (store.FairShards).
//
// # Who waits for whom
//
// Nothing waits: it only reads, in the transaction of a claim or before it.
//
// # When it fails
//
// It has written nothing.
//
// # Imports
//
// Package store, and core and db.
package choosing
