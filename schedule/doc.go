// Package schedule enqueues jobs at times: by a cron expression in a time zone, at intervals, or
// once.
//
//	var nightly = schedule.New("nightly", schedule.Cron("30 2 * * *", "Europe/Berlin"), Report.Item(args))
//
//	_, err := schedule.Sync(ctx, hf, nightly) // before hf.Run
//
// A schedule is kept in the database, in the namespace of the client. The node that leads fires it,
// whatever kinds it serves; its jobs are like any other, and run where their kind is served.
//
//	New, Sync    schedules that code declares
//	Create …     schedules that are made and changed at run time, as the command line does
//	Trigger      a job now, beside the schedule
//	Backfill     jobs for times that have passed
//	Next, Words  what a schedule means
//
// # What it promises
//
// Each nominal time of a schedule leads to one job, or to a line in the list of its runs that says
// why not: never to two, whatever leads, dies, or sets its clock, and never to nothing. What is new
// fires nothing that has passed.
//
// # What a nominal time is
//
// The time that the schedule says, before its jitter. A handler finds it by Run.Schedule. A time is
// missed if it is acted on more than a minute late, because no node was alive or the schedule was
// paused.
//
// # How it fails
//
// By ErrInvalid, for a schedule that can never be right: an expression that is not understood or
// means a day that never comes, an unknown zone, an end before its start, a jitter that is not less
// than the time between two fires. By ErrNotFound, ErrConflict and ErrUnavailable as elsewhere.
//
// # Imports
//
// Of ours, the root package, store, and internal/access, internal/cron, internal/declared,
// internal/engine, internal/firing and internal/valid.
package schedule
