// Package logs is what Holdfast says in the user's log: its keys, which mean the same in all lines, and the parts that keep
// logging from doing harm.
//
//	About    the job that a line is about
//	Limiter  lets ten lines of a source through in a second, and counts the others
//	Pen      writes lines for those who must not wait for the user's logger
//	Outage   says that the database does not answer, now and then, and when it answers again
//	Calm     a logger of the user's that cannot end the process
//
// # When it fails
//
// A logger that panics loses the line. One that blocks holds up who calls Say; whoever commits for everybody, or holds a lock, puts
// the line into the pen instead.
//
// # Imports
//
// Of ours, only store.
package logs
