package store

import "fmt"

// State says what a job is doing. The numbers are stored in databases and never change their
// meaning.
type State uint8

// The states of a job.
const (
	Scheduled State = 1 // its run time is in the future
	Available State = 2 // may be claimed
	Running   State = 3 // a node holds its lease
	Retryable State = 4 // an attempt failed; the next one is due later
	Waiting   State = 5 // parked until a timer, a message or a child wakes it
	Completed State = 6 // finished: the handler returned a result
	Failed    State = 7 // finished: no attempt is left, or none would help
	Cancelled State = 8 // finished: on request
)

// States lists every state in the order in which a job usually meets them.
var States = []State{Scheduled, Available, Running, Retryable, Waiting, Completed, Failed, Cancelled}

var stateNames = map[State]string{
	Scheduled: "scheduled", Available: "available", Running: "running", Retryable: "retryable",
	Waiting: "waiting", Completed: "completed", Failed: "failed", Cancelled: "cancelled",
}

// String returns the state's name, as users see it everywhere.
func (s State) String() string {
	if name, ok := stateNames[s]; ok {
		return name
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// Finished reports whether the state is final: only an operator's retry leaves it.
func (s State) Finished() bool { return s >= Completed && s <= Cancelled }

// ParseState is the inverse of State.String.
func ParseState(name string) (State, error) {
	for _, s := range States {
		if s.String() == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("%w: unknown state %q", ErrInvalid, name)
}

// MarshalText makes the state its name in JSON.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a state's name.
func (s *State) UnmarshalText(text []byte) error {
	parsed, err := ParseState(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}

// StateSet is a set of states: bit 1<<state.
type StateSet uint16

// SetOf returns the set of the given states.
func SetOf(states ...State) StateSet {
	var set StateSet
	for _, s := range states {
		set |= 1 << s
	}
	return set
}

// Has reports whether the set contains s.
func (set StateSet) Has(s State) bool { return set&(1<<s) != 0 }

// Unfinished is the set of the states of jobs that are still to finish.
var Unfinished = SetOf(Scheduled, Available, Running, Retryable, Waiting)

// Reason is a stable code that says why an attempt or a job ended as it did. Empty for a completed
// one.
type Reason string

// The reason codes.
const (
	ReasonError             Reason = "error"              // the handler returned an error
	ReasonTerminal          Reason = "terminal"           // the handler, its input, or what it was handed over to said that no retry helps
	ReasonAttemptsExhausted Reason = "attempts_exhausted" // the last attempt failed
	ReasonTimeout           Reason = "timeout"            // the attempt took longer than it may
	ReasonHeartbeat         Reason = "heartbeat"          // the attempt made no progress for longer than it may
	ReasonDeadline          Reason = "deadline"           // the whole job took longer than it may
	ReasonNodeLost          Reason = "node_lost"          // the node that ran it died
	ReasonCrashLoop         Reason = "crash_loop"         // the last attempt, too, died with its node
	ReasonCancelled         Reason = "cancelled"          // a person, a parent or the handler cancelled it
	ReasonTerminated        Reason = "terminated"         // a person or a parent ended it at once
	ReasonPaused            Reason = "paused"             // a person paused it
	ReasonNondeterminism    Reason = "nondeterminism"     // a replay contradicted the journal
	ReasonSnoozed           Reason = "snoozed"            // the handler asked to run later; not counted
	ReasonReleased          Reason = "released"           // the node stopped and gave it back; not counted
)
