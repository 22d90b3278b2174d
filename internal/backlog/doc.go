// Package backlog bounds how many jobs wait, for what one client enqueues: those of a queue, and
// those of each key in it. Package limit has the options.
//
// A Bounds has the rules of a client. An enqueue needs room in each bound that it concerns: that of
// the queue in its namespace, and one for each key. It gets all of it at one moment, under one
// mutex, or none: so enqueues that wait hold nothing that others wait for, and one that is refused
// leaves nothing behind.
//
// What a bound knows is a count of the database, and what was let through since it began, or was
// not stored then. A count is of use for a quarter of a second, or twenty times as long as it took,
// but five seconds at the most. What several enqueues need is counted together: while one counts in
// a space, which is a rule in a namespace, others say which keys they need, and who counts next
// counts them all. The mutex is not held meanwhile.
//
// A bound of which no count is of use, in which nothing is being enqueued, and that no enqueue has
// asked for lately, knows nothing that the next count does not tell. It is dropped, so that a
// client which has met a million keys does not keep them.
//
// # Imports
//
// Of ours, it imports store.
package backlog
