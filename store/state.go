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
	Waiting   State = 5 // parked until a timer, a message or a child wakes it, or other jobs have finished
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
	ReasonDependency        Reason = "dependency"         // it waits for other jobs
	ReasonNondeterminism    Reason = "nondeterminism"     // a replay contradicted the journal
	ReasonSnoozed           Reason = "snoozed"            // the handler asked to run later; not counted
	ReasonThrottled         Reason = "throttled"          // the handler asked its queue to rest; not counted
	ReasonReleased          Reason = "released"           // the node stopped and gave it back; not counted
	ReasonCodecKey          Reason = "codec_key"          // the node lacks a key that its payloads need; not counted
)

// Transition is one edge of a job's life. The table below is the only list of them: the conformance
// suite walks each edge on every store, and docs/jobs.md is checked against it.
type Transition struct {
	From State // 0: the job does not exist yet
	To   State
	When string
	// Counted tells whether the transition uses up one of the job's attempts.
	Counted bool
}

// Transitions is the state machine of a job.
var Transitions = []Transition{
	{0, Available, "enqueued, due now", false},
	{0, Scheduled, "enqueued with a run time in the future", false},
	{0, Waiting, "enqueued after jobs that have not finished", false},
	{Scheduled, Available, "its run time came", false},
	{Retryable, Available, "its backoff is over", false},
	{Waiting, Available, "its timer is due, what it waited for arrived, or a person resumed it", false},
	{Waiting, Available, "the jobs that it came after have finished", false},
	{Waiting, Scheduled, "a person resumed it before its run time", false},
	{Waiting, Scheduled, "those that it came after have finished before its run time", false},
	{Waiting, Retryable, "a person resumed it before its backoff was over", false},
	{Available, Running, "claimed: lease number + 1", false},
	{Running, Completed, "the handler returned a result", true},
	{Running, Retryable, "the handler failed or its node died, and attempts are left", true},
	{Running, Scheduled, "the handler snoozed, or asked its queue to rest", false},
	{Running, Available, "its node stopped and gave it back", false},
	{Running, Waiting, "the handler parked, or a person paused the job", false},
	{Scheduled, Waiting, "a person paused it", false},
	{Scheduled, Waiting, "it was made to wait for other jobs", false},
	{Available, Waiting, "a person paused it", false},
	{Available, Waiting, "it was made to wait for other jobs", false},
	{Retryable, Waiting, "a person paused it", false},
	{Waiting, Completed, "handed over by its handler, and completed from outside", false},
	{Waiting, Failed, "handed over by its handler, and failed from outside", false},
	{Running, Failed, "a terminal error, or no attempts left", true},
	{Running, Cancelled, "a person, a parent or the handler asked", true},
	{Scheduled, Cancelled, "a person or a parent asked", false},
	{Available, Cancelled, "a person or a parent asked", false},
	{Retryable, Cancelled, "a person or a parent asked", false},
	{Waiting, Cancelled, "a person or a parent asked", false},
	{Waiting, Cancelled, "a job that it came after did not complete", false},
	{Failed, Available, "a person's retry or resume, which is recorded", false},
	{Cancelled, Available, "a person's retry or resume, which is recorded", false},
	{Available, Scheduled, "replaced by a later enqueue with its unique key, or changed by a person", false},
	{Scheduled, Scheduled, "replaced by a later enqueue with its unique key, or changed by a person", false},
	{Available, Available, "replaced by a later enqueue with its unique key, or changed by a person", false},
	{Retryable, Retryable, "changed by a person", false},
}

// Allowed reports whether a job may go from one state to the other.
func Allowed(from, to State) bool {
	for _, t := range Transitions {
		if t.From == from && t.To == to {
			return true
		}
	}
	return false
}
