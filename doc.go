// Package holdfast runs durable jobs on the database that you already have: SQLite inside the process, or PostgreSQL when one
// machine is not enough.
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
// A job that was enqueued runs until it is finished, whatever dies in between. It may run more than once: when a node dies after the
// work and before its outcome was stored, nobody can know. A handler that must not do a thing twice makes it idempotent, or
// fences it with the lease number (Run.Lease), which grows with every run of the job. Only the run that holds the live
// lease can write anything: progress, a checkpoint, its outcome. docs/architecture.md lists what always holds, and how.
//
// # Options
//
// An option means the same wherever it is given. Options of NewKind hold for all jobs of the kind, those of an enqueue win over
// them, and what a job does not say is decided by the options of its handler.
//
// # Errors
//
//	what happened                                    errors.Is              what to do
//	the args, a name or an option is wrong           ErrInvalid             mend the call
//	the unique key is taken (with Reject)            ErrConflict            as *UniqueError: use its Holder
//	the database does not let its user do that       ErrPermission          grant what the error says
//	the job does not exist, or no longer             ErrNotFound            -
//	a text is not a callback token                   ErrInvalid             -
//	a finished job is to be retried, and cannot be   ErrConflict            -
//	the database did not answer                      ErrUnavailable         repeat with the same id (WithID)
//	its disk is full, it refuses writes              ErrFull, ErrReadOnly   see to it, then repeat
//	its schema is newer than the program             ErrSchema              update the program
//	its file was deleted or replaced                 ErrDatabaseGone        stop, see docs/databases.md
//	the client was closed                            ErrClosed              -
//	waited for a job that failed                     ErrFailed              as *JobError: Reason and Message
//	waited for a job that was cancelled              ErrCancelled           as *JobError
//	a run remembers as much as it may                ErrJournalFull         return ContinueAsNew
//	what a run waited for did not come in time       ErrWaitTimeout         -
//	a signal does not decode                         ErrInvalid             as *MessageError: go on, or return it
//	a run is used as it must not be                  ErrInvalid             mend the handler; its job goes on then
//	a run lost its lease                             ErrLeaseLost           return; another run has the job
//
// # Log
//
// What fails is logged, through slog.Default() unless WithLogger names another logger: an attempt that is tried again at
// WARN, what ends a job for good at ERROR. docs/logging.md lists all lines.
//
// # Layers
//
// This package imports internal/engine and store. It imports no database: a program links those whose packages it names,
// store/sqlite and store/postgres. Imports point downwards only, which internal/layers checks.
package holdfast
