// Package jobs has the verbs on jobs and on what is sent to them: "job", "signal" and "callback",
// and "queue drain", which cancels jobs.
//
// A verb finds all mistakes of its command line before it opens the database. A verb on several
// jobs changes those that it can, names the others, and exits with a code other than 0.
//
// Package views formats the results. Queries are paged, so that memory is bounded. Verbs that wait
// or follow survive an outage of the database and end with the job, a time limit or Ctrl-C.
//
// This package imports the root package, internal/builtin, store and why, and of internal/cli the
// base of all verbs: app, arg, output and views. It knows no other verbs.
package jobs
