// Package lists decides how jobs are listed and counted: where a store looks for those that a
// filter selects, in which order, and how much of it. What both databases share is here once; how
// each of them looks is behind Tables.
//
//	bucket   ranges of ids that are made at about the same time
//	place    where a job is in an order, cursors, and ranges of them
//	tables   what a store looks at
//	plan     where to look for the jobs of a filter
//	walk     goes on from there, a bounded number of rows at a time
//	match    what a JSON document has at a path
//	attributes  what jobs have for search attributes
//
// # What it promises
//
// A page, and a part of a count, look at a bounded number of rows, whatever there is. Jobs that
// stay where they are in the order are on one page each: where a page goes on is a place in the
// order, not a number of rows.
//
// Where the field of a filter has an index the jobs come from there, if there are no more than Few
// of them: then all of them are read and sorted, in any order. Of more, and without an index, the
// order is walked: by id through all jobs, or those that failed; by time through the pointers or
// the ends. Every other field is checked on what is found there.
//
// # Imports
//
// Package store.
package lists
