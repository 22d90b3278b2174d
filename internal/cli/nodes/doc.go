// Package nodes has the verbs of nodes: "dev" and "worker", which are nodes that run the built-in
// kinds, and "node list".
//
// A node sees to the signals itself: after the first it claims no more jobs and waits for those
// that run, after the second it stops them, and what has not finished runs again. A log that nobody
// reads any more does not end it. One that could not join says so, and one that could not sign off,
// too.
//
// What "dev" says to try works as it is written, in another terminal, and holds no password.
//
// Of ours it imports the root package, internal/builtin, store and store/dsn, and of internal/cli
// what all verbs are made of: app, arg, output and views.
package nodes
