// Package schedules has the verbs on schedules: "schedule create", "list", "get", "next", "runs",
// "update", "pause", "resume", "trigger", "backfill" and "delete".
//
// A verb finds all mistakes of its command line before it opens the database. What is only true of
// the schedule that is there, such as a jitter that is not less than the time between its fires, is
// found by the library, and is a mistake of the command line as well.
//
// This package imports the root package, internal/builtin, schedule and store, and of internal/cli
// the base of all verbs: app, arg, output and views. It knows no other verbs.
package schedules
