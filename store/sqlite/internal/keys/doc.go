// Package keys is about the keys of jobs: which job has a business key, and for how long, and which
// has a unique key.
//
//	keys   the rows of keys: who has one, takes it, keeps it
//	sent   what was sent along with enqueues
//	unique the unique keys
//
// # How it works
//
// A business key is a row that names the job which took it last. Whether that still holds it is not
// written there: it is looked up with the row, so that a job which finishes changes nothing. A job
// that is removed leaves the row with the time until which the key is kept, or takes it along.
//
// There is one writer, so that between the look at a key and what is done with it nothing can
// happen.
//
// # Imports
//
// Of ours, store, core and db.
package keys
