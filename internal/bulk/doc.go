// Package bulk changes all jobs that a filter selects, page by page: what an operation of package
// operation does on a node, and what the command line does by itself.
//
// # How a page is done once
//
// The place in the order of the jobs is kept, with the counts, in the checkpoint of the operation's
// job, before the jobs of a page are changed: their ids are in it. Each change is recorded with its
// job, in the transaction that makes it, and the reason names the operation (Spec.mark). So a run
// that finds the ids of a page asks each of these jobs whether it was changed, counts those that
// were, and changes the others if they still match. A page that was done twice would be counted
// once.
//
// # Imports
//
// Of ours, store, internal/engine, internal/usercode and internal/valid.
package bulk
