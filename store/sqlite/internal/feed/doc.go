// Package feed is the feed of changes: rows of one table, holdfast_feed.
//
//	verbs   store.Feed
//	retain  what is too old
//
// # How it works
//
// What moves jobs notes it in its transaction (core.Tx.Tell), which writes all of it at its end. As
// there is one writer, the order of the rows is that of the transactions, and what happened within
// one is in the order in which it was done. So no sequencer has to give them positions.
//
// # When it fails
//
// An error ends the transaction, and nothing of it has happened: neither the change nor its row.
//
// # Imports
//
// Of ours, store, core and db.
package feed
