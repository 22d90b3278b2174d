// Package workers has the operations of the API for workers in any language.
//
// A worker is a node of the database like any other: it joins, claims, beats, and ends its runs
// with outcomes that are fenced by their leases. What it has to know of itself and of its runs it
// gets as signed tokens, which it sends along: a server keeps nothing for it that another one would
// lack, and takes no worker with it when it dies. What is kept here of a worker (session) only
// saves work, and is made again by whichever server its next request comes to.
//
//	token     what the tokens carry (tokens has the key of the database by which they are signed)
//	register  makes it a node; registered: what is kept of that for a repeat
//	poll      claims: repeatable, as the worker numbers its polls, and the claims of each poll have
//	          numbers of their own
//	hub       polls that wait for jobs
//	limited   slots and permits of limits, for claims of a worker that limits concern
//	weight    how much a poll answers
//	run       outcomes and progress
//	park      what parked runs wait for
//	journal   what a run remembers, in pages; append: what it adds; sizes: how much that is
//
// # Imports
//
// Of ours, the root package for a client, internal/access, internal/asked, internal/blocked,
// internal/cli/views, internal/engine, internal/journal, internal/outcome, internal/usercode,
// internal/valid, server/access, store, server/internal/entries, server/internal/tokens, and
// server/internal/api with what that stands on.
package workers
