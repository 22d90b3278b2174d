// Package updates is requests to runs, with their answers: rows of one table, job_update.
//
//	statements   what packages write and operate do to them, in transactions of theirs
//	updates      store.Updates
//
// # How it works
//
// A request is open until it has a verdict. Whatever adds one has locked the body of its job, and
// so has whatever parks the job: a request finds the job waiting, or is found by the run that
// parks. Its number is drawn under that lock, so that among the requests to one job a later one has
// a greater number. An answer comes with an append, and is fenced as that is.
//
// # When it fails
//
// All else is as PostgreSQL said it. Package postgres gives errors their class.
//
// # Imports
//
// Package store, packages local and pg, and pgx.
package updates
