// Package keys is about business keys: which job has one, and for how long.
//
//	keys   the rows of keys: who has one, takes it, keeps it
//	sent   what was sent along with enqueues
//
// # How it works
//
// A key is a row that names the job which took it last. Whether that still holds it is not written
// there: it is looked up with the row, so that a job which finishes changes nothing. A job that is
// removed leaves the row with the time until which the key is kept, or takes it along.
//
// There is one writer, so that between the look at a key and what is done with it nothing can
// happen.
//
// # Imports
//
// Of ours, store, core and db.
package keys
