// Package copier copies all jobs and schedules of one database into another: holdfast copy.
//
//	copier    the copy: what is refused, the pages, the comparison
//	quiet     whether a node lives in a database, also for migrate reset
//
// # What it promises
//
// The target has each job and schedule once, as it was in the source, or the copy fails and says
// why. A copy that was interrupted, at whatever point, goes on when it is started again: the target
// has a note of it, a job that is there is left as it is, and schedules are written again. No
// transaction is larger than a page.
//
// In the source nothing is changed but what the next node would have done: jobs that ran on a node
// that died are given back, children of finished jobs are closed, and answers delivered.
//
// # When it fails
//
// ErrConflict: a node lives in one of the databases, or the target is not that of this copy. Every
// other error is the store's, and the copy can be started again.
//
// # Imports
//
// Of ours, store.
package copier
