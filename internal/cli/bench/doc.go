// Package bench has the verb "bench", which measures how fast a database enqueues and runs jobs.
//
// It measures in a place of its own, a schema or a file, and removes it at the end, whatever
// happens. A job counts when its outcome is committed. Nothing that exists is touched.
//
// Of ours it imports the root package and store/dsn, and of internal/cli what all verbs are made
// of: app, arg and views.
package bench
