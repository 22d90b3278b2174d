package store

import "time"

// Outcome ends a run, fenced by its lease.
//
//	Completed  Result is kept.
//	Retryable  RunAt says when; counted. Error and Reason are recorded as an attempt.
//	Scheduled  a snooze, or a rest of its queue: RunAt says when; not counted.
//	Available  a release: due at once, its run time is now, or what it was (KeepsPlace); not counted.
//	Waiting    parked as Wait says; not counted, and not recorded as an attempt.
//	Failed     Reason and Error are kept; counted, and recorded as an attempt.
//	Cancelled  Reason ReasonCancelled; Error holds the words of who cancelled.
//
// If a cancel was requested for the job meanwhile, Retryable, Scheduled and Available become
// Cancelled with the words of the request; Completed, Failed and Cancelled stay what they are. If
// the job has a deadline and RunAt is not before it, Retryable and Scheduled become Failed with
// ReasonDeadline. A requested cancel comes before the deadline.
//
// A Durable job is given the chance to end itself instead: a requested cancel makes Retryable,
// Scheduled and Waiting Available, and the request stays until the job is finished; a deadline
// makes Retryable and Scheduled due at the deadline, if that is sooner. Neither changes anything
// for a job that is closing (Job.Closing): its end is decided, and takes the time that it takes. A
// run that had its chance (CancelSeen), or whose code does not fit its journal (Waiting, held, with
// ReasonNondeterminism), ends as it says: what cannot end itself must not be tried again at once,
// for ever.
//
// If a pause of the job was requested meanwhile (PauseJobs), and no cancel, Retryable, Scheduled,
// Available and Waiting become Waiting, held. Waiting becomes Available if a message that would
// wake it has arrived already.
//
// Texts that the database cannot hold (NUL, invalid UTF-8) are cleaned, and never fail a batch.
type Outcome struct {
	Lease  Lease
	State  State
	Reason Reason
	Error  string // the error's text
	Trace  string // the stack of a panic or of a stuck handler
	Result []byte // of Completed, as its codec wrote it
	Codec  int    // of the result; 0: JSON
	// Fingerprint, of Failed, is the same for failures that are alike; 0: none. A store keeps it,
	// and does not make it.
	Fingerprint int64
	// RunAt of Retryable and Scheduled. If zero, it is the store's clock plus Delay.
	RunAt     time.Time
	Delay     time.Duration
	StartedAt time.Time // when the handler was called; zero if it was not

	// Rest, of Scheduled, asks for a rest of the job's queue. The engine sees to that before, and
	// sets RunAt to its end. A store does not look at it.
	Rest *RestParams
	// Wait is how a run is parked, of Waiting only.
	Wait *Wait
	// KeepsPlace, of Available without Continue, tells that the run never began: its node had
	// claimed the job ahead. The job keeps its run time, and so its place among the others, and
	// what it has waited. A run that began goes behind those that wait: its job had its turn.
	KeepsPlace bool
	// Continue, of Available only, makes the job start over with other args: see Continue.
	Continue *Continue
	// Meta is what the run says of its job; nil: nothing. It is written with the outcome.
	Meta *Meta
	// Version binds the job to nodes that claim this version of its kind, from now on; "" leaves it
	// as it is. Looked at if the job goes on.
	Version string

	// Durable tells that the job has a journal, or may have one; HasChildren, that there are
	// children that its end may have to close. Both from what the run knows, so that the store need
	// not look.
	Durable     bool
	HasChildren bool

	// HasSuccessors tells, from Claimed, that jobs may come after this one, so that the store need
	// not look.
	HasSuccessors bool

	// Answers tells that the job answers its parent, and Parent which job that is, from Claimed, so
	// that the store need not look.
	Answers bool
	Parent  ID

	// Namespace and Queue are those of the job, from Claimed, for the engine to wake the nodes that
	// may take it once it is available again. A store does not look at them.
	Namespace, Queue string

	// HasUnique and HasOrdering tell what the job carries, from Claimed, so that the store need not
	// look.
	HasUnique   bool
	HasOrdering bool
	// HasKey tells that it has a business key. A store does not look at it.
	HasKey bool

	// Gate is that of the job (Job.Gate), from Claimed, so that the store need not look.
	Gate int64

	// CancelSeen tells that the run knew of the request to cancel the job when it ended.
	CancelSeen bool

	// InTx tells that the run may have appended to its journal in a transaction of a caller that is
	// open still. The outcome is ErrBusy until that has ended. Any that does not complete its job
	// waits for that without being told.
	InTx bool

	// Repeat says that this outcome was sent before and its answer was lost. If it was applied,
	// Final is what it led to. If a rescue or a leave ended the run, it is ErrLeaseLost. A
	// checkpoint in the same batch, of the same lease, was applied with it.
	Repeat bool

	// Final is set by the store: the state in which the job is now. Of a repeated outcome that left
	// no attempt (Waiting, or Continue) it is the state that was asked for.
	Final State
	// Due is set by the store: when the job is due, if it is Scheduled or Retryable now, or Waiting
	// until a time. Zero: no time, or, of a repeated outcome, unknown.
	Due time.Time
	// Err is this outcome's own failure: ErrLeaseLost, ErrInvalid or ErrBusy.
	Err error
}

// CheckpointWrite stores a run's progress and checkpoint, fenced by its lease. It replaces what was
// there.
type CheckpointWrite struct {
	Lease      Lease
	Namespace  string     // of the job. A store does not look at it
	Checkpoint Checkpoint // UpdatedAt is set by the store
	Meta       *Meta      // what the run says of its job; nil: nothing
	Err        error      // ErrLeaseLost, ErrInvalid for a value that is not JSON, or, with Meta, ErrBusy
}

// Continue makes a durable job start over, in the transaction that ends the run: its journal is
// replaced by one EntryContinued, whose Seq is that after the last entry's, of its messages only
// the signals stay that no entry has received (with new Seqs, from 1, in their order), its args are
// those given, its attempts start over, and it is not closing. It is not counted or recorded as an
// attempt. A requested cancel or pause meets the job that starts over.
//
// What it has published and streamed stays as long as the job does, under its Seqs, for those who
// ask for it (JournalParams.Earlier): each entry of the kind EntryStreamed, and of the kind
// EntryPublished the newest of each name. It is no part of the journal: nothing else sees it or
// counts it, and no Resume takes it away.
type Continue struct {
	Args  []byte
	Codec int
	Data  []byte // of the EntryContinued
}
