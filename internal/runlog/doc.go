// Package runlog keeps what runs log, so that it can be read with their jobs.
//
//	Run       what one run has logged and is not written yet, and its slog.Handler
//	Keeper    writes the lines of all runs of a process together
//	Record    a line, as it is stored
//
// # When lines are written
//
// A run has a ring in memory, from which the oldest lines go. A handler that logs waits for no
// write. Every is how long lines wait at most: then the lines of all runs are written in one
// transaction. The outcome of a run that has unwritten lines first lets them be written, together
// with those of all others, so that the lines of a finished attempt are there when its end is. It
// waits for that for EndPatience at most, and does not fail if it fails.
//
// # Bounds
//
// Of a run are kept store.LogRunLines lines and store.LogRunBytes bytes. Older ones go, in chunks,
// and their numbers tell how many. So a run has in memory at most twice as much as is kept of it.
//
// # Replay
//
// What the code of a durable function logs while it is replayed was logged by an earlier run. It is
// not kept again: see replay.Strand.Replays.
//
// # Failures
//
// The database is away: lines wait for it, those of runs that have ended for as long as there are
// not more than mostLeft of such runs. Any other error loses the lines, which is logged. The
// process is killed: what was logged since the last write is lost.
//
// # Imports
//
// Of ours, store, and internal/commit, logs and supervise.
package runlog
