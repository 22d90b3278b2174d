// Package batches has the verbs on batches of jobs: "batch create", "add", "close", "list", "get"
// and "cancel".
//
// This package imports the root package, batch and store, and of internal/cli the base of all
// verbs: app, arg, output and views. It knows no other verbs.
package batches
