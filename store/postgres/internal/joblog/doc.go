// Package joblog is what runs have logged: rows of one table, job_log.
//
// # How it works
//
// A row is a chunk of lines of one run. Nothing else of a job refers to it. It is written in a
// transaction of its own, of chunks of many runs, which locks no row of another table and waits for
// none that a transaction of a caller may hold. So a chunk may be written while its job is removed;
// such rows go when the jobs of that day have gone (ForgetGone).
//
// # When it fails
//
// All is as PostgreSQL said it. Package postgres gives errors their class.
//
// # Imports
//
// Package store, packages local and pg, and pgx.
package joblog
