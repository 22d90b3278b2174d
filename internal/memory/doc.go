// Package memory is what one run of a durable function remembers while it runs: the journal, the
// inbox and the requests to its job as they were read, what it has added since, and what of that is
// to be stored. It has no lock, and reads and stores nothing: package replay does.
//
//	memory    the journal by its places, and how much of it the code has come past
//	inbox     the messages, and which of them were received
//	pending   what is to be stored, in which portions, and what is taken back
//	put       maps that are made with their first element
//	meetings  the conditions that strands have awaited, and where the others were
//	requests  the requests: which are open, which were taken, and the answers to be stored
//
// # The promises
//
// What is to be stored is stored in the order in which it was added, a child with the entry that
// remembers it, and an answer with the entries that it rests on, or after them.
//
// A request that the journal has accepted is taken, whether or not it is open: it is not taken
// again, however often it was read or sent. One that is taken, open, and done has an answer to be
// stored.
//
// # Imports
//
// Of ours, store and internal/journal.
package memory
