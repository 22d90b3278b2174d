package store

import "time"

// CancelParams asks jobs to stop. In the results State is Cancelled of a job that did not run, and
// Running of one that runs, whose node is told; a job that had finished before is left as it is,
// without an error. One that a caller's transaction holds is cancelled by SweepCancels, and its
// State is what it is until then. Of one that is asked twice the store keeps one of the reasons.
// Err is ErrNotFound, or, of one that is to be terminated, ErrBusy: a caller's transaction holds
// it.
type CancelParams struct {
	Namespace string // of the jobs; "": any
	Jobs      []ID
	Reason    string // for people; kept with the job
	Actor     string // who asked
	// Terminate ends the jobs at once (Cancelled, ReasonTerminated), those that run included: their
	// leases are lost, and what they registered to compensate does not run. Without it a job that
	// is durable and has begun (it has a journal) is made available with the request, so that its
	// run ends it in order; until that run it is Available, and not Cancelled.
	Terminate bool
	// Unrecorded: no action is recorded, as no person asked, and no job that has failed gives up
	// the turn that it keeps (Options.KeepTurn), as it does otherwise: it stays Failed, that is
	// recorded, and those behind it follow. CancelTx never does that.
	Unrecorded bool
	// Skip does no more than that: jobs that have failed give up the turns that they keep. Any
	// other is an ErrConflict, and stays as it is.
	Skip bool
}

// Action is what is recorded of jobs that are cancelled or terminated so.
func (p *CancelParams) Action() ActionKind {
	switch {
	case p.Skip:
		return ActionSkip
	case p.Terminate:
		return ActionTerminate
	}
	return ActionCancel
}

// Result says what became of one job of an operation on several.
type Result struct {
	Job ID
	// State is the job's state afterwards: of a job that runs and was asked to stop or to pause
	// Running, until its node has heard of it; of one that had finished before, which is left as it
	// is, how it finished. What else it may be, each operation says.
	State State
	// Ended tells, of a cancel or a Finish, that this very call has finished the job: State is how.
	// (In a caller's transaction: when it commits.)
	Ended bool
	// Err is ErrNotFound, ErrConflict if the job is in no state for it, ErrBusy if a caller's
	// transaction holds the job, or a *UniqueError. What each operation refuses, it says.
	Err error
}

// RetryParams makes finished jobs run again: failed or cancelled ones from the first attempt,
// retryable and scheduled ones at once. In the results Err is ErrNotFound, a *UniqueError, ErrBusy,
// or ErrConflict for a job that is running, waiting or completed. An available one is left as it
// is, without an error.
type RetryParams struct {
	Namespace string // of the jobs; "": any
	Jobs      []ID
	Reason    string // for people; kept with the job
	Actor     string
	// Failed, of Retry only: jobs that have failed, and no others. Any other is an ErrConflict, and
	// stays as it is: so a job that another caller has retried is not retried again.
	Failed bool
	// Keep, of RetryTx only, says of a finished job with a journal the Seq of the last entry that
	// stays, as in ResumeParams; nil: all stay. Its error is that of the job. It is called while
	// the transaction has the job.
	Keep func(Journal) (int64, error)
}

// PauseParams pauses or resumes a queue. Running jobs go on.
type PauseParams struct {
	Namespace string
	Queue     string
	Paused    bool // false ends a rest, too
	Actor     string
}

// DeleteQueueParams takes a queue off the list, and ends its pause. One that has jobs that are not
// finished is left as it is, with ErrConflict; ErrNotFound is one that is not listed. Finished jobs
// stay, and find their queue if they run again. From then on the queue is listed while it has jobs
// that are not finished, until it is paused or resumed, or removed by Retain and used again.
type DeleteQueueParams struct {
	Namespace string
	Queue     string
	Actor     string
}

// PauseJobsParams pauses jobs. One that has a pointer is Waiting then, held, until Resume. One that
// runs is asked, as Beat.Pauses tells its node; it is held when it is put back, and finishes if it
// does. In the results State is Waiting of a job that is held now, and Running of one that was
// asked, because it runs or a caller's transaction holds it; Err is ErrNotFound, or ErrConflict for
// a job that has finished. A job that is held already is left as it is.
type PauseJobsParams struct {
	Namespace string // of the jobs; "": any
	Jobs      []ID
	Reason    string
	Actor     string
}

// ResumeParams lets a job go on: one that is held, or that failed or was cancelled. A job that was
// paused while it was scheduled or retryable becomes that again, if its time has not come; all
// others become Available. One that runs, and was asked to pause, goes on. A finished one starts
// with its attempts from the first, and is not closing, and its open updates are removed; nor is
// one closing whose journal does not keep the entry with which that was decided, the last of the
// append that says so.
type ResumeParams struct {
	Namespace string // of the job; "": any
	Job       ID
	// Keep is the Seq of the last entry of the journal that stays; the later ones are removed, but
	// for an EntryContinued. Messages that they received count as not received; requests that they
	// accepted (EntryUpdated) and that have an answer are removed, so that they may be sent again.
	// Negative: all stay.
	Keep int64
	// Expect is the Seq of the last entry that the caller knows of; another one is ErrConflict.
	// Negative: whatever there is.
	Expect int64
	// Continue makes the job start over instead, as that of an outcome does: it is Available then,
	// and Keep is not looked at. The job may also wait for something else than a person. One that
	// runs is not asked to, and one whose end is decided and that has not finished is ErrConflict.
	Continue *Continue
	Reason   string
	Actor    string
}

// ForkParams makes a new job out of the beginning of another one's journal: the entries up to the
// Seq Keep, with the messages that they received, and all that children and callbacks have sent,
// under their Seqs. If there are such entries, it also has what the old job had kept when it last
// continued as new (see Continue). Children of the old job stay those of the old job.
type ForkParams struct {
	Namespace string // of the old job; "": any
	From      ID
	Keep      int64
	// Next is the entry after Keep, as the caller has read it. If another run has written that
	// meanwhile, or it is not there any more, as after the job has continued as new, nothing is
	// done and the error is ErrConflict. Nil: whatever there is.
	Next *Entry
	// Job is the new one, as in an Enqueue, without a unique key or a business key. If its id
	// exists nothing is done.
	Job    Job
	Reason string
	Actor  string
}

// ActionKind names what a person can do to a job.
type ActionKind string

// The kinds of actions. They are stored in databases and never change their meaning.
const (
	ActionCancel    ActionKind = "cancel"    // cancelled it, or asked its run to end
	ActionTerminate ActionKind = "terminate" // ended it at once
	ActionSkip      ActionKind = "skip"      // let those behind it go on, for which it kept the turn
	ActionRetry     ActionKind = "retry"     // let it run again
	ActionPause     ActionKind = "pause"     // held it, or asked its run to stop
	ActionResume    ActionKind = "resume"    // let it go on
	ActionFork      ActionKind = "fork"      // made it out of another job's journal
	ActionContinue  ActionKind = "continue"  // let it start over
	ActionEdit      ActionKind = "edit"      // changed it
	ActionDelete    ActionKind = "delete"    // removed it, with which the other actions are told no more
	ActionComplete  ActionKind = "complete"  // completed it, which was handed over
	ActionFail      ActionKind = "fail"      // failed it, which was handed over
)

// Action is something that a person, or an outside system, did to a job. It is recorded in the
// transaction that does it, once, and not if nothing was changed: a second request to cancel a job
// that runs, or to pause one that is held, leaves none. What follows from a request later, and what
// the end of a parent does to its children, is not recorded as an action.
type Action struct {
	At     time.Time
	Kind   ActionKind
	Actor  string // who
	Reason string // optional
}

// ActionBound is how many actions a Record tells of at the most.
const ActionBound = 100
