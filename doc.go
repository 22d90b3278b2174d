// Package holdfast runs durable jobs on the database you already have: SQLite in the process, or
// PostgreSQL when one machine is no longer enough.
//
//	var Greet = holdfast.NewKind[string, string]("greet")
//
//	hf, err := holdfast.Open(ctx, sqlite.File("holdfast.db"))
//	err = Greet.Handle(hf, func(run *holdfast.Run, name string) (string, error) {
//		return "Hello, " + name, nil
//	})
//	go hf.Run(ctx)
//	job, err := Greet.Enqueue(ctx, hf, "world")
//	greeting, err := job.Wait(ctx)
//
// # Promises
//
// An enqueued job runs until it has finished, even if nodes die. It runs at least once: if a node
// dies after the work and before the outcome is stored, the job runs again. If a handler must not
// do a thing twice, make it idempotent, or fence it with the lease number (Run.Lease), which grows
// with every run of the job. Only the run that holds the live lease can write anything: progress, a
// checkpoint, its outcome. docs/architecture.md lists the invariants, and how they are kept.
//
// # Options
//
// An option means the same wherever it is given. Options of NewKind apply to all jobs of the kind;
// options of an enqueue override them. Options of the handler decide what the enqueue leaves open;
// of attempts they come before what the kind says, and what a person has set of the queue
// (Client.SetQueue) before both.
//
// # Errors
//
//	what happened                                    errors.Is              what to do
//	the args, a name or an option is wrong           ErrInvalid             fix the call
//	the unique key is taken (with Reject)            ErrConflict            as *store.UniqueError: use its Holder
//	the database denies the operation                ErrPermission          grant what the error says
//	the job does not exist, or was removed           ErrNotFound            -
//	the text is not the token of a callback          ErrInvalid             -
//	a finished job cannot be retried                 ErrConflict            -
//	the database did not answer                      ErrUnavailable         repeat with the same id (JobID)
//	an open transaction holds the job or the key     ErrBusy                repeat a moment later
//	a transaction of yours is closed or aborted      ErrInvalid             roll it back and begin again
//	its disk is full, or it refuses writes           ErrFull, ErrReadOnly   fix the database, then repeat
//	its schema is newer than the program             ErrSchema              update the program
//	its file was deleted or replaced                 ErrDatabaseGone        stop, see docs/databases.md
//	the client was closed                            ErrClosed              -
//	a job that was waited for failed                 ErrFailed              as *JobError: Reason and Message
//	a job that was waited for was cancelled          ErrCancelled           as *JobError
//	the journal of a run is full                     ErrJournalFull         return ContinueAsNew
//	the time limit of a wait in a run is over        ErrWaitTimeout         -
//	a signal does not decode                         ErrInvalid             as *MessageError: carry on, or return it
//	a run is misused                                 ErrInvalid             fix the handler; its job then continues
//	a run lost its lease                             ErrLeaseLost           return; another run has the job
//	a handler took too long                          ErrTimeout             return; the attempt has failed
//	a handler made no progress                       ErrHeartbeat           return; the attempt has failed
//	a handler still runs as its node stops           ErrShutdown            return; the job runs again
//	a child that CallAll did not wait for            ErrNotWaitedFor        -
//
// # Log
//
// Holdfast logs failures to slog.Default(), or to the logger given to WithLogger: an attempt that
// is retried at WARN, the final failure of a job at ERROR. docs/logging.md lists all lines.
//
// # Layers
//
// This package imports internal/engine and store, but no database: a program links only the
// database packages that it names, store/sqlite and store/postgres. Imports point downwards only,
// which internal/layers checks.
package holdfast
