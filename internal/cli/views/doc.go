// Package views is how jobs, queues, nodes and what verbs have done look: to programs, as JSON, and
// to people, as rows of tables and lines.
//
// The JSON is an interface, documented in docs/cli.md. Every field is always there, and null says
// that there is nothing. Times are RFC 3339 in UTC with microseconds, 64-bit integers are strings,
// durations are as Go writes them ("1m30s"). The JSON of a job is that of a store.Record, and a
// journal is the library's own type, holdfast.Journal: holdfasttest reads it.
//
// What people see may change from version to version. Long names and texts are cut in tables, never
// in JSON.
//
// Of ours it imports the root package, store and why for what it shows, and internal/cli/output.
package views
