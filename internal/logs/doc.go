// Package logs writes Holdfast's lines to the user's log: it has the keys, which mean the same in
// all lines, and the parts that keep logging from doing harm.
//
//	About    the job that a line is about
//	Limiter  rate limit: ten lines of a source in a second; counts the others
//	Seldom   which texts were not logged in the last minute
//	Pen      writes lines asynchronously, for callers that must not wait for the user's logger
//	Outage   logs now and then that the database does not answer, and when it answers again
//	Calm     wraps a user's logger so that its panics do no harm
//
// # Failures
//
// A logger that panics loses the line. A logger that blocks also blocks the caller of Say; callers
// that hold a lock, or commit for others, use the pen instead.
//
// # Imports
//
// This package imports only store.
package logs
