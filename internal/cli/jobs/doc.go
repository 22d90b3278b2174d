// Package jobs has the verbs on what is in a database: "job", "queue", "signal" and "callback".
//
// A verb finds all mistakes of its command line before it opens the database. Then it either does
// what it was told or says what it did not: of several jobs, those that cannot be changed do not
// keep the others from it, each is named, and the exit code is not 0.
//
// What a verb makes of a job is told by package views. What reads a database page by page takes the
// memory of a page. Verbs that wait or follow outlast an outage of the database and end with the
// job, with a time limit or with Ctrl-C.
//
// Of ours it imports the root package, internal/builtin, store and why, and of internal/cli what
// all verbs are made of: app, arg, output and views. It knows no other verbs.
package jobs
