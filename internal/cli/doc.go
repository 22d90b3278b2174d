// Package cli is the holdfast command: its root, its help, what a shell completes, and the verbs
// that have no package of their own. cmd/holdfast only calls Main; everything else is here and
// below, so that tests run commands in process.
//
// # Rules
//
// Data go to standard output, everything that people are told goes to standard error. Lists and
// objects are tables on a terminal and JSON elsewhere; the fields of the JSON are an interface
// (package views), as are the exit codes (package app). An error is one line that says what to do.
//
// A flag that is global is accepted by every verb, wherever it stands, so that it may stand in an
// alias; a verb's help shows those that it looks at: see app.Uses. Whatever is given has a value,
// by one rule for all flags, arguments and variables (package arg). No text of a Go package reaches
// a person, and no password any output.
//
// Verbs that only look at a database, or put something into it, neither create nor migrate it: a
// wrong path is an error, and a newer command on somebody's desk does not change the schema under
// the nodes that run. dev, worker and migrate up do.
//
// docs/cli.md is the reference, and is tested against the commands.
//
// # Packages
//
// From the top down, none of them knows those above it or beside it:
//
//	cli                   the root command, help, completion, and the verbs migrate, vet and version
//	jobs, nodes, bench    the other verbs
//	app                   one run of the command: streams, global flags, database, exit codes
//	arg, views, shortlog  what people type; what they and programs are shown; the log for people
//	output                JSON, tables and texts
//
// The tests here run command lines, of all packages. What needs no command line is tested where it
// is.
//
// # Imports
//
// Of ours, the root package, internal/vet, store/dsn, store for the types of what dsn returns, and
// the packages below.
package cli
