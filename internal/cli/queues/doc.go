// Package queues has the verbs on queues, which are "queue list", "get", "pause", "resume" and
// "delete", and "kind list".
//
// "queue drain" is a change of jobs: package jobs has it, and the root command passes it on.
//
// This package imports the root package and store, and of internal/cli the base of all verbs: app,
// arg, output and views. It knows no other verbs.
package queues
