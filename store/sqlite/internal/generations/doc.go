// Package generations is what of a job counts that has continued as new, and how the rest of it
// goes.
//
//	generation   where the memory of a job begins, and what of its inbox goes on
//	leftover     what was forgotten, or belongs to jobs that were removed, goes bit by bit
//
// # How it works
//
// A job that continues as new may leave behind tens of thousands of rows. They are not removed in
// the transaction that ends its run, for which everybody else who writes would wait: the entry with
// which it starts over says from where on its journal and its inbox count, and what is before is
// hidden, and removed bit by bit. What the job has published and streamed before
// stays, for those who ask for it.
//
// There is one writer, so that nothing comes between the look at a row and what is done with it.
//
// # When it fails
//
// An error ends the transaction, and nothing of it has happened.
//
// # Imports
//
// Of ours, store, core and db.
package generations
