// Package sqlite keeps jobs in one SQLite file, in the process that uses them. It is the store to
// start with, and enough for one machine: any number of goroutines and several processes may share
// a file.
//
// File names a database for holdfast.Open; Config is the same with options. Tx wraps a transaction
// of the caller's own, for EnqueueTx and SendTx, and Begin a database/sql database, for StepTx:
//
//	hf, err := holdfast.Open(ctx, sqlite.File("holdfast.db"))
//	…
//	job, err := Receipt.EnqueueTx(ctx, hf, sqlite.Tx(tx), id)
//
// # What it promises
//
// Everything that package store says, with commits that are durable against power loss
// (synchronous=FULL; Normal is the option that gives up the last commits on a power loss, never
// consistency). Readers never block writers. No caller sees "database is locked": a call that needs
// the file waits for it until its context ends, or 30 seconds if that has no deadline, and then
// gets ErrUnavailable.
//
// # The parts
//
// This package opens files and brings their schema up to date. A Store consists of four sets of
// verbs over one database:
//
//	internal/work   what happens to single jobs
//	internal/tend   nodes, rescue, retention, forks
//	internal/view   what only looks
//	internal/keys   business keys, which work and tend use, too
//	internal/core   the database and its transactions, on which the verbs stand
//	internal/db     the file: connections, statements, errors, locks; and the texts of all statements
//
// Each may use those below it.
//
// # How it differs from the schema that the stores share
//
// Ordering keys are handed on in the transaction that frees them or adds to them, not by a later
// pass: the file has one write lock anyway, so nothing is won by waiting, and there is no table of
// keys to look at. The answers tell of a turn that was handed on. A finished row of a job that
// completed does not repeat lane and attempt, so that completing reads no body. A claim record
// holds lease numbers where they are not all 1.
//
// Only a caller's own transaction keeps others from writing, and it keeps all of them: there is no
// ErrBusy here, and AwaitTx need only get the write lock once.
//
// # Other processes
//
// The clock is that of each process, and may be set. What lies in ready is claimed, whatever the
// clock says of its run time: it was found due before. Only what is deferred waits until the
// clock has caught up.
//
// # When the file goes
//
// SQLite does not notice that its file, or the log beside it, was deleted or replaced while it is
// open: it would go on to confirm what can never be found. So after each commit, and before its
// caller is told, the store looks whether both are still in their place, and fails with
// ErrDatabaseGone if they are not; so does everything else from then on.
//
// SQLite's locks on the file belong to the process: the system drops them when any code of the
// process closes any descriptor of the file. So this package never opens the file but through
// SQLite, and neither should the program: no os.Open of a live database, and no second copy of the
// SQLite library (cgo, ncruces) on the same file in one process. modernc.org/sqlite is the copy
// that we use, and may be used beside it.
//
// # When it fails
//
// A transaction that fails is rolled back; nothing of it has happened, except that after a failed
// sync (ErrUnavailable) it is unknown. A full disk is ErrFull, and goes on when there is room. A
// file that cannot be written is ErrReadOnly, a schema from the future ErrSchema, and a file that
// is damaged or no database ErrInvalid: retrying helps none of them.
//
// # Imports
//
// Of ours, store, store/internal/sqltext for the migrations, and the parts.
package sqlite
