// Package view is what only looks: records and lists of jobs, queues, what no node serves, and what
// others have written.
//
//	read       what is known of a job
//	list       jobs by what they have in common
//	obstacles  why a job does not start
//	queues     how many jobs a queue has, and how old they are
//	unserved   jobs whose kind no node knows
//	watch      tells of commits of others
//	pace       how often it looks for them, and tells
//	ears       hears that there may be some
//	freed      which slots of limits a node of this store waits for
//
// # What it promises
//
// Each read sees one snapshot, on a connection of its own, and keeps no writer waiting.
//
// Watch looks at PRAGMA data_version on the write connection: it changes with every commit but
// those of this very connection, which is what a wake-up should tell. It cannot tell what changed,
// so each wake-up is a WakeAll. Few of them are told while others write all the time. What is
// looked for after each change, and told at once, is whether slots are free that a node of this
// store has said it wants.
//
// # When it fails
//
// A read ends with its context. Watch goes on after an error, but for ErrClosed and
// ErrDatabaseGone.
//
// # Imports
//
// Of ours, store, lists, core, db, filewatch, generations, keys, and work, which knows how waits
// and requests are written.
package view
