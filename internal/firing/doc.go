// Package firing decides what a schedule does at a moment: which of its nominal times are due,
// which of them were missed, and what becomes of each. It is pure: it gets what the store says and
// a time, and returns what is to be written.
//
//	Begin      where a schedule begins that is made or changed
//	Decide     what the clock makes due
//	Manual     a fire that a person asks for
//	Asked      what follows one that has replaced a job
//	Between    the times of a range
//	Next       the times to come
//	Check      what a schedule must be to be kept
//
// # What it promises
//
// Of what a store said, and the same time, any node decides the same, but for the ids of new jobs.
// A time at or before the schedule's cursor is never decided again, whatever the clock says, and
// none is left out between the cursor and the one that is decided last: it fires, or it is skipped,
// or it counts as missed. The store carries out one decision of those that are made of the same
// version.
//
// A time that is at most Grace late is not missed: a leader that dies is replaced within that.
// What was missed is listed with the runs of the schedule, the last Listed of them.
//
// # How it fails
//
// A rule that cannot be read, because a newer version has written it, is an error: the schedule is
// to be looked at again later, and nothing of it is decided.
//
// # Imports
//
// This package imports store, and internal/cron and internal/keyhash.
package firing
