// Package limits has the verbs on limits: "limit set", "list", "get", "delete" and "reset", and
// "queue set" and "queue rest", which set the limit of a queue and let it rest.
//
// A verb finds all mistakes of its command line before it opens the database.
//
// This package imports the root package, limit and store, and of internal/cli the base of all
// verbs: app, arg, output and views. It knows no other verbs.
package limits
