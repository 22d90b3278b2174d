// Package keys is about business keys: which job has one, and for how long.
//
//	keys   who has a key, takes it, or stands in the way of who wants it
//	sent   what was sent along with enqueues
//	over   what becomes of keys when jobs go
//
// # How it works
//
// A key is a row that names the job which took it last. Whether that still holds it is not written
// there: it is looked up with the row, so that a job which finishes changes nothing. A job that is
// removed leaves the row with the time until which the key is kept, or takes it along.
//
// Between the look and what is done with it much can happen: a finished job may run again, another
// may take the key. Both count one up in the row, and what is done with it is done only if that is
// what was seen. So an enqueue that finds its key held locks nothing, and one that finds it free
// waits only for transactions that are taking it at this moment.
//
// # Who waits for whom
//
// Keys are taken in their order, those that are new before the others, and before unique keys and
// the bodies of jobs that signals go to. A job that is to run again takes its key while its body is
// locked; no transaction that has the key waits for that body.
//
// # Imports
//
// Package store, package pg, and pgx.
package keys
