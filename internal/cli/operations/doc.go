// Package operations has the verbs on operations, which change all jobs that a filter selects:
// "operation list", "get", "follow" and "cancel". The verbs on jobs start them.
//
// This package imports the root package, operation and store, and of internal/cli the base of all
// verbs: app, arg, output and views. It knows no other verbs.
package operations
