// Package updates is requests to runs, with their answers: rows of one table, holdfast_job_update.
//
//	rows    what package work does to them: a request comes, a run answers it, what belongs to a job goes
//	verbs   store.Updates
//
// # How it works
//
// A request is open until it has a verdict. Its number comes from a counter that no number leaves
// twice, so a run that parks says which one it knows last, and is woken by any open one after that.
// There is one writer: what comes later finds the job waiting.
//
// # When it fails
//
// An error ends the transaction, and nothing of it has happened.
//
// # Imports
//
// Of ours, store, core and db.
package updates
