// Package move reads and writes jobs as wholes, and schedules, for a copy from one database to
// another.
//
//	survey    what a copy has to know of a database
//	export    a page of whole jobs: read, memory
//	import    writes one: insert, place
//	updates   the requests to a job
//
// # What it promises
//
// A page is read in one snapshot and written in one transaction, with the note of the copy. What an
// export says is what the rows mean: messages are counted from the first that the job has not
// forgotten, and rows that wait for their removal are left out.
//
// The entries and messages of a job may come in several pages, before the job itself: they are
// nothing that a read finds until it is there.
//
// # What belongs to a job
//
// A new table or column that belongs to a job is a field of store.Whole, read in whole and written
// in insert.
//
// # Imports
//
// Of ours, store, core, db, generations, schedules, and work, which knows how waits and requests
// are written.
package move
