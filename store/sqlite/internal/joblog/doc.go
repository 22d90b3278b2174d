// Package joblog is what runs have logged: rows of one table, holdfast_job_log.
//
//	verbs   store.Logs
//	rows    what package move does to them
//
// # How it works
//
// A row is a chunk of lines of one run. Nothing else of a job refers to it, and what happens to the
// job does not read it; the rows go with the job (package tend).
//
// # When it fails
//
// An error ends the transaction, and nothing of it has happened.
//
// # Imports
//
// Of ours, store, core and db.
package joblog
