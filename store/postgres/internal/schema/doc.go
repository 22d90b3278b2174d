// Package schema makes the tables and keeps them as they have to be: the steps of the schema
// (migrations/*.sql), and a partition for each day.
//
// # What it promises
//
// Steps are taken in order, each in a transaction of its own, by one process at a time. Partitions
// of today and of the days to come are there before they are needed; several processes may make
// them at once.
//
// Jobs, finished jobs and attempts are partitioned by day, by the time in their ids. Retention, in
// package operate, drops whole days, and moves what outlives its day to the default partition.
// Every join with them is by id, row by row, so that all other days are pruned when the statement
// runs.
//
// # When it fails
//
// A schema from the future is refused. Without a partition the jobs of a day go to the default one,
// which works and is slower to clear away. Locks of partitions are waited for only for a moment:
// everybody else would queue up behind.
//
// # Imports
//
// Package store, store/internal/sqltext, package pg, and pgx.
package schema
