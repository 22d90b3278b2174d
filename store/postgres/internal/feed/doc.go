// Package feed is the feed of changes on PostgreSQL.
//
// Statement triggers on the tables of pointers write it: feed_raw has a row for each statement by
// which jobs arrived in states, with their ids. They are there only while the feed is on, so that a
// feed that is off costs nothing; making them waits until no transaction has written to those
// tables, which is what makes the beginning exact. They see each way in which a job moves, SQL of
// other programs too.
//
// A row is not in its place when it is written, as its transaction may commit much later. So a
// sequencer gives positions to what has committed: it remembers the snapshot by which it has looked
// last, and what that did not see is new. That leaves no gap to wait for and no row to look at
// twice; a transaction that is open for hours costs a look into an index with each pass. There is
// no leader for it: who reads runs it, and of two at once one fails by the key of its first
// position.
package feed
