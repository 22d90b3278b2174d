// Package shortlog is a slog.Handler for a person at a terminal: of a node's log it writes which
// jobs start, how they end, and what fails, each as one short line.
//
// A blocked terminal never blocks the node: it costs lines, whose number is printed later. In a
// second with too many jobs they are counted instead of shown. End writes what is left, and waits
// for the terminal for a second at most.
//
// It rewords the lines of docs/logging.md. All others are written with their attributes.
//
// This package imports internal/cli/output.
package shortlog
