// Package scheduler fires schedules: it is the loop of the node that leads, which looks for what is
// due, has package firing decide, and passes what is to be written to the committer.
//
// # What it promises
//
// What a pass reads may be old by the time it writes: the store compares versions, so another
// leader, or a person who pauses the schedule, is never overruled, and a refused decision is made
// again from what is there then. A pass that dies on the way has written some decisions and not the
// others; the next one, of any leader, finds these due.
//
// A job that was replaced is asked to stop before the decision is written that forgets about it,
// and so at least once.
//
// One schedule that cannot be written, because a transaction of a caller holds what it needs, keeps
// no other waiting for more than Patience. Where nothing is due the loop sleeps until the next
// time, or until it is nudged; each Idle it looks anyway, since nudges may be lost.
//
// # How it fails
//
// The database is away: it looks again each second. A rule that this version cannot read: a line in
// the log, and the schedule is looked at again after Unreadable.
//
// # Imports
//
// This package imports store, and internal/firing, internal/logs, internal/observer and
// internal/supervise.
package scheduler
