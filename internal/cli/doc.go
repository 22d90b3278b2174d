// Package cli is the holdfast command: its root, help and completion, and the verbs that have no
// package of their own. cmd/holdfast only calls Main; everything else is here and below, so that
// tests can run commands in process.
//
// # Rules
//
// Data are written to standard output, all messages to standard error. Lists and objects are tables
// on a terminal and JSON elsewhere; the fields of the JSON are an interface (package views), as are
// the exit codes (package app). An error is one line that says what to do.
//
// A global flag is accepted by every verb, in any position, so that it may be part of an alias; a
// verb's help shows those that it uses: see app.Uses. A given value is never empty: one rule for
// all flags, arguments and variables (package arg). Messages of Go packages are reworded, and no
// output contains a password.
//
// Verbs that only read a database, or enqueue into it, neither create nor migrate it: a wrong path
// is an error, and a newer command does not change the schema under running nodes. dev, worker and
// migrate up do.
//
// docs/cli.md is the reference, and is tested against the commands.
//
// # Packages
//
// From the top down; a package does not import those above or beside it:
//
//	cli                          the root command, help, completion, and the verbs migrate, vet and version
//	jobs, queues, schedules, nodes,
//	databases, bench             the other verbs
//	app                          one invocation: streams, global flags, database, exit codes
//	arg, views, shortlog         parsing of arguments; output for people and programs; the log for people
//	output                       JSON, tables and texts
//
// The tests here run command lines of all packages. Everything else is tested in its package.
//
// # Imports
//
// This package imports the root package, internal/vet, store/dsn, store for the types of what dsn
// returns, and the packages below.
package cli
