// Package facts writes down what a node counts and measures, so that charts read rows and never
// jobs.
//
//	Keeper   counts what happens to the runs of a node, and writes it
//	Merge    makes hours of minutes that are old, and removes hours that are older
//
// # When it is written
//
// A run counts in the minute in which it started, and in that in which its end was stored, by the
// clock of the database. Counting is a lock and a few additions in memory. After each heartbeat
// that got through, in a loop of its own, the parts that have changed are written as a whole, under
// keys that do not change: so a write that is repeated, or whose answer was lost, changes nothing.
// A node that does nothing writes one row a minute. The last minute is written when the node stops.
//
// # Failures
//
// The database is away: minutes wait for it, about a day of them, and older ones are then counted
// together. The process is killed: what was counted since its last write is lost, which is a
// heartbeat's worth. Nothing else fails because of that: jobs go by nothing of this.
//
// # Hours
//
// The leader merges the minutes of an hour when they are store.FactMinutesKept old: those of all
// nodes become one row for each namespace, in the transaction that removes them. It fails if any of
// them is gone, so two leaders at once merge nothing twice. What nodes have measured goes then; of
// the database the last measurement of the hour is kept.
//
// # Imports
//
// Of ours, store, internal/gauges and internal/tally.
package facts
