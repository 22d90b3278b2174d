// Package batches keeps batches of jobs in SQLite, counts their members, and copies batches into
// another database.
//
//	batches   what is done with batches
//	count     the duty of the leader, and what retries leave for it
//
// There is one writer, so no member can be on its way when a batch is closed: all that it has are
// there. A count reads outside of the write transaction whether anything is to be counted.
//
// # Imports
//
// Package store, packages db and core.
package batches
