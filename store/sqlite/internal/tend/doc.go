// Package tend keeps a database in order: which nodes live and who leads them, what happens to the
// runs of those that died, and what goes when it is old. It makes forks, too, which copy as much as
// a removal removes.
//
//	nodes, lead      nodes join, beat and leave; one of them leads
//	rescue           takes runs from nodes that are dead, and those that a node has lost
//	retain, retire   jobs go, and lanes and queues that are not used
//	queues, rest     queues are deleted, and rest until a time
//	keys             business keys that are free
//	fork             a job that begins with the memory of another
//
// # What goes
//
// Retain removes jobs, records of what people did, and the lanes and queues that are not used any
// more; retire.go says how it knows. It works in chunks, so that other calls do not wait for long
// for the write connection.
//
// # Who is dead
//
// The clock is that of each process, and may be set. Who is dead is told by others than the store;
// a leader lease that ends later than it was ever long is over. A lock that can be had
// (db.LifeLocks) says that its node was killed.
//
// # When it fails
//
// What is done in several transactions goes on where it was: what is left to remove is written
// down, and what was copied for a fork that was never made is removed like it.
//
// # Imports
//
// Of ours, store, edits, core, db, generations, keys, updates, and work: a rescue ends runs as
// their handlers would.
package tend
