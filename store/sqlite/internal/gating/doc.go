// Package gating decides in claims which jobs run that count in limits per key, and looks now and
// then for jobs that wait at gates which are free. Where jobs wait, and how those go on whose gate
// becomes free, is in core.
//
// # Rates
//
// A limit per key may have a rate. Of each key of which jobs were claimed lately a row says where
// that stands (internal/gcra, Key): a claim reads the rows of the gates of its jobs, lets through
// as many as the burst lets, and writes them back, in the transaction that takes the jobs. So a
// claim that is rolled back takes nothing. The others wait at their gates, and the row says when
// the next of them may start: promotion finds the rows whose time has come by an index, however
// many jobs wait, and puts as many of the key back into ready as it lets start. A row of which the
// burst is whole again says nothing, and is removed by Retain.
//
// # Imports
//
// Of ours, store, store/internal/gates, internal/gcra, core and db.
package gating
