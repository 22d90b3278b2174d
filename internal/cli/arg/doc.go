// Package arg parses the command line: the rules that flags and arguments follow in every verb, and
// the values that several verbs take, such as durations, times, ids of jobs, and JSON on the
// command line, in a file or on standard input.
//
// One rule applies to all of them: a flag or an argument has a value, and an empty one is a
// mistake. A mistake is a UsageError, one line that names the flag or argument and says what would
// be right, without terms of Go or cobra.
//
// While a FIFO or a terminal gives no input, Ctrl-C still works: UnlessInterrupted.
//
// This package imports the root package, store for the states of jobs, and internal/cli/output.
package arg
