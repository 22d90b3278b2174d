// Package nodes has the verbs of nodes: "dev" and "worker", which are nodes that run the built-in
// kinds, and "node list".
//
// A node handles the signals itself: after the first it stops claiming and waits for running jobs,
// after the second it stops them, and unfinished jobs run again. It survives that its log output is
// closed. It reports that it could not join, or could not leave the cluster.
//
// The commands that "dev" suggests work as printed, in another terminal, and contain no password.
//
// Processes that run jobs are started before the nodes and end after them.
//
// This package imports the root package, internal/builtin, internal/subprocess, store and
// store/dsn, and of internal/cli the base of all verbs: app, arg, output and views.
package nodes
