// Package bench has the verb "bench", which measures how fast a database enqueues and runs jobs.
//
// It measures in a schema or a file of its own, which it always removes at the end. A job counts
// when its outcome is committed. Existing data are not touched.
//
// This package imports the root package and store/dsn, and of internal/cli the base of all verbs:
// app, arg and views.
package bench
