package store

import "time"

// Ending is how a run ends, by itself or not: as far as it decides where its job goes.
type Ending struct {
	State State // that is asked for
	// Held tells that the run itself wants a person to look at its job, of Waiting, and Contradicts
	// why: its code does not fit its journal.
	Held, Contradicts bool
	// Durable tells that the job has a journal, or starts over: it is given the chance to end
	// itself.
	Durable bool
	// CancelSeen tells that the run had that chance.
	CancelSeen bool
	RunAt      time.Time // of Retryable and Scheduled
}

// Asked is what others want of a job at the end of a run of it.
type Asked struct {
	Cancel, Pause bool
	Deadline      time.Time // zero: none
	Closing       bool      // its end is decided, and takes the time that it takes
}

// Verdict is where a job goes.
type Verdict struct {
	State State
	Cause EndCause
	Due   EndDue
	// Hold tells that the job is held, for a person who asked to pause it; State is where it goes
	// when it is resumed.
	Hold bool
}

// EndCause is whose words a job keeps that does not go on.
type EndCause uint8

// The causes of an end.
const (
	EndsAsItSays  EndCause = iota // those of the run
	EndsByRequest                 // those of the request to cancel it
	EndsByDeadline
)

// EndDue is when a job is due that goes on.
type EndDue uint8

// When a job is due that goes on.
const (
	DueAsItSays EndDue = iota
	DueNow
	DueAtDeadline
)

// Meet decides where a job goes, by the rules that Outcome tells. It is the one place in Go that
// has them. PostgreSQL has them in its statement: storetest holds both to one table of all
// combinations. What is not decided here is whether a message has arrived that wakes a job at once
// which is to wait.
func (e Ending) Meet(a Asked) Verdict {
	v := Verdict{State: e.State}
	if e.State.Finished() {
		return v
	}
	late := (e.State == Retryable || e.State == Scheduled) && !a.Closing && !a.Deadline.IsZero() && !e.RunAt.Before(a.Deadline)
	switch {
	case a.Cancel && (a.Closing || e.Durable && (e.CancelSeen || e.Contradicts)):
		// It ends as it would without a request. To try again at once what cannot end itself would
		// be to try for ever.
		return v
	case a.Cancel && e.Durable: // its next run ends it in order
		if e.State != Available {
			v = Verdict{State: Available, Due: DueNow}
		}
		return v
	case a.Cancel:
		return Verdict{State: Cancelled, Cause: EndsByRequest}
	case late && !e.Durable:
		return Verdict{State: Failed, Cause: EndsByDeadline}
	case late: // its run at the deadline ends it in order
		v.Due = DueAtDeadline
	}
	if a.Pause && !e.Held {
		if v.Hold = true; v.State == Waiting {
			v.State, v.Due = Available, DueNow
		}
	}
	return v
}
