// Package updates is what one run knows of the requests to its job: which are open, which it has
// taken, and what it has answered and not yet stored. It has no lock, and reads nothing: package
// replay reads requests into a Book, takes them out of it, and stores the answers.
//
// # The promise
//
// A request that the journal has accepted is taken, whether or not it is open: it is not taken
// again, however often it was read or sent. One that is taken, open, and done has an answer to be
// stored.
//
// # Imports
//
// Of ours, store and internal/journal.
package updates
