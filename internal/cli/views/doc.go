// Package views formats jobs, queues, schedules, nodes and the results of verbs: for programs as
// JSON, and for people as rows of tables and lines.
//
// The JSON is an interface, documented in docs/cli.md. Every field is always present, and null if
// it has no value. Times are RFC 3339 in UTC with microseconds, 64-bit integers are strings,
// durations are as Go writes them ("1m30s"). The JSON of a job is that of a store.Record, and a
// journal is the library's own type, holdfast.Journal, which holdfasttest reads.
//
// The output for people may change from version to version. Long names and texts are cut in tables,
// never in JSON.
//
// This package imports the root package, schedule, store and why for what it shows, and
// internal/cli/output.
package views
