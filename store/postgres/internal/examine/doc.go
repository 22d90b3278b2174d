// Package examine looks at a server and at what others do there, for people who ask why jobs are
// slow, or whether they are safe (store.Examines).
//
//	examine  what is looked at, in order
//	server   its settings, connections and rights
//	horizon  what keeps dead rows from being cleared away, and what has come of it
//	notify   whether notifications arrive, and how fast
//
// # What it promises
//
// It locks nothing and changes nothing. What the role must not see is a finding.
//
// # Imports
//
// Package store, package pg, and pgx.
package examine
