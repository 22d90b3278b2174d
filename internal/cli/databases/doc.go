// Package databases has the verbs on databases as a whole: copy, backup, health and migrate reset.
//
// This package imports the root package, store, store/dsn and internal/copier, and of internal/cli
// the base of all verbs: app, arg, output and views. It knows no other verbs.
package databases
