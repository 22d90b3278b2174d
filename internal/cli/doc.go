// Package cli is the holdfast command. cmd/holdfast only calls Main; everything else is here, so that tests run commands in
// process.
//
// # Rules
//
// Data go to standard output, everything that people are told goes to standard error. Lists and objects are tables on a terminal and
// JSON elsewhere; the fields of the JSON are an interface (view.go), as are the exit codes (errors.go). An error is one line that
// says what to do.
//
// A flag that is global is accepted by every verb, wherever it stands, so that it may stand in an
// alias; a verb's help shows those that it looks at: see uses. Whatever is given has a value, by one
// rule for all flags, arguments and variables (flags.go). No text of a Go package reaches a person,
// and no password any output.
//
// Verbs that only look at a database, or put something into it, neither create nor migrate it: a wrong path is an error, and a
// newer command on somebody's desk does not change the schema under the nodes that run. dev, worker and migrate up do.
//
// docs/cli.md is the reference, and is tested against the commands.
//
// # Imports
//
// Of ours, the root package, internal/builtin, internal/vet, store/dsn, and store for the types of what dsn returns.
package cli
