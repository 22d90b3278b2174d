// Package entries is what workers of the API append to the journals of their runs: the JSON of an
// entry, what is refused of it, and the entry, the child and the signal that it becomes.
//
// It asks nothing of the database: whether a message is there that an entry has received, and
// whether a run may append, is told by who stores what is made here. An entry is as a Go run would
// write it, field by field, so that journals do not tell who has written them; what a worker sends
// beside the known fields of an entry's data is dropped.
//
//	entry  the JSON of an entry, and of what happens together with it
//	kinds  which fields an entry of a kind has
//	data   what the data of each kind holds
//	path   which paths there are
//	made   the entries of one request, with children and signals
//
// # Imports
//
// Of ours, the root package, internal/access, internal/journal, internal/usercode, internal/valid,
// rules, store, and server/internal/api and server/internal/jobs (what is said of a child) with
// what these stand on.
package entries
