// Package arg reads what people type: the rules that flags and arguments follow in every verb, and
// the values that several verbs take, such as durations, times, ids of jobs, and JSON that stands
// on the command line, in a file or on standard input.
//
// One rule holds for all that is given: it has a value, and what is empty is a mistake. What cannot
// be right is a UsageError, one line that names the flag or argument and says what would be right.
// No words of Go or of cobra are in it.
//
// Input that does not come, of a FIFO or a terminal, does not keep Ctrl-C from working:
// UnlessInterrupted.
//
// Of ours it imports the root package, store for the states of jobs, and internal/cli/output.
package arg
