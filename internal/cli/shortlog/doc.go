// Package shortlog is a slog.Handler for the person before a terminal: of what a node logs it
// writes what starts, what ends and how, and what fails, each as one short line.
//
// Whoever logs never waits for the terminal. One that takes nothing costs lines, whose number is
// told, and jobs nothing. In a second with too many jobs they are counted instead of shown. End
// says what is left, and waits for the terminal no longer than a second.
//
// The lines that it has words of its own for are those of docs/logging.md. All others are written
// with their attributes.
//
// Of ours it imports internal/cli/output.
package shortlog
