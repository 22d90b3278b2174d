// Package rawsqlite is the ceilings on SQLite: what package rawpg does, over the bare driver that
// Holdfast uses too, with synchronous=FULL.
//
// SQLite has one writer, so there is one connection and one goroutine that has it. It takes all
// that waits, puts it into one transaction, and tells each when it is durable; the loops that claim
// and finish jobs are among those who wait.
package rawsqlite
