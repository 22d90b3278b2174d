// Package feed has the verbs on the feed of changes: "event on", "off", "status" and "list".
//
// This package imports the root package, events and store, and of internal/cli the base of all
// verbs: app, arg, output and views. It knows no other verbs.
package feed
