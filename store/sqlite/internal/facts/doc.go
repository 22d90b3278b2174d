// Package facts is what nodes have counted and measured: rows of one table, holdfast_fact, and what
// the file says of itself.
//
// # How it works
//
// A row belongs to no job. It is written by its key, so that a second write of the same changes
// nothing.
//
// # When it fails
//
// An error ends the transaction, and nothing of it has happened.
//
// # Imports
//
// Of ours, store, core and db.
package facts
