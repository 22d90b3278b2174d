// Package loader reads what runs of a process ask the database for, such as their journals. Runs
// that ask at the same moment share one query.
//
// # When it fails
//
// While the database does not answer it is asked again, as long as a run waits: an attempt is not
// lost because a connection broke. Any other error is returned to all whose query it was. A run
// whose context ends waits no longer.
//
// # Imports
//
// Of ours, store, internal/commit, logs, portion and supervise.
package loader
