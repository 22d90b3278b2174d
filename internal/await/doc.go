// Package await is what the strands of a run can wait for: signals, callbacks, children, timers and
// each other. Each tells whether it is there, by what the run remembers, and what would end a wait
// for it. Nothing here waits, or writes to the database: package internal/replay does, with the
// lock of the run held whenever it calls this package.
//
//	thing     what all of them can tell, and those that a message answers
//	signal    the next signal of a name
//	callback  the answer of an outside system
//	child     the end of a job that the run has started
//	children  the ends of many, of which only some run at once
//	timer     a time
//	future    the return of another strand
//	limit     when a wait ends at the latest
//
// # Imports
//
// Of ours, store, internal/blocked, journal, memory and usercode.
package await
