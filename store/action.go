package store

import "time"

// ActionKind names what a person can do to a job.
type ActionKind string

// The kinds of actions. They are stored in databases and never change their meaning.
const (
	ActionCancel    ActionKind = "cancel"    // cancelled it, or asked its run to end
	ActionTerminate ActionKind = "terminate" // ended it at once
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
