package store

import (
	"fmt"
	"slices"
)

// FailurePolicy says what becomes of a job that comes after another one if that fails or is
// cancelled. The numbers are stored in databases and never change their meaning.
type FailurePolicy uint8

// The policies.
const (
	CancelIfFailed FailurePolicy = 0 // it is cancelled, in words that name the other one
	RunIfFailed    FailurePolicy = 1 // it runs anyway
	// HoldIfFailed lets it wait for a person: who retries the other one, which may complete then,
	// or resumes this one, or cancels it.
	HoldIfFailed FailurePolicy = 2
)

var failurePolicies = []string{"cancel", "run", "hold"}

// String returns the name of the policy, as users see it everywhere.
func (p FailurePolicy) String() string {
	if int(p) < len(failurePolicies) {
		return failurePolicies[p]
	}
	return fmt.Sprintf("policy(%d)", uint8(p))
}

// ParseFailurePolicy is the inverse of FailurePolicy.String. The error is an ErrInvalid.
func ParseFailurePolicy(name string) (FailurePolicy, error) {
	if i := slices.Index(failurePolicies, name); i >= 0 {
		return FailurePolicy(i), nil
	}
	return 0, fmt.Errorf("%w: unknown policy %q; it is run, cancel or hold", ErrInvalid, name)
}

// MarshalText makes the policy its name in JSON.
func (p FailurePolicy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a policy's name.
func (p *FailurePolicy) UnmarshalText(text []byte) error {
	parsed, err := ParseFailurePolicy(string(text))
	if err == nil {
		*p = parsed
	}
	return err
}

// Dependency says after which job another one comes, its predecessor, which is of the same
// namespace.
type Dependency struct {
	On       ID
	IfFailed FailurePolicy
}

// MaxDependencies is how many predecessors a job may wait for at one time.
const MaxDependencies = 1000

// Predecessor is one that a job waits for.
type Predecessor struct {
	Dependency
	// State is what it is doing. 0: it was removed, after it had failed or was cancelled.
	State State
}

// DependParams lets a job that has not started (never claimed) come after others, too. It waits
// from now on as an enqueue with Enqueue.After does. A predecessor that it waits for already gets
// the policy that is given now. Nothing is recorded as an action.
type DependParams struct {
	Namespace string // of the jobs; "": any, in which the job is
	Job       ID
	On        []Dependency
}

// DependencyFault is why a job cannot come after another one.
type DependencyFault uint8

// The faults.
const (
	MissingPredecessor  DependencyFault = 1 // there is no such job in the namespace, or not yet
	CyclicDependency    DependencyFault = 2 // that one waits for this one, or they are the same
	TooManyDependencies DependencyFault = 3 // it would wait for more than MaxDependencies
)

// DependencyError is returned for a job that cannot come after another one. It is an ErrNotFound if
// that is missing, and an ErrInvalid otherwise.
type DependencyError struct {
	Job   ID // that was to wait
	On    ID // for this one; zero if there are too many
	Fault DependencyFault
}

func (e *DependencyError) Error() string {
	switch e.Fault {
	case MissingPredecessor:
		return fmt.Sprintf("%v: job %s, after which job %s was to come", ErrNotFound, e.On, e.Job)
	case CyclicDependency:
		if e.On == e.Job {
			return fmt.Sprintf("%v: job %s cannot come after itself", ErrInvalid, e.Job)
		}
		return fmt.Sprintf("%v: job %s cannot come after job %s, which waits for it", ErrInvalid, e.Job, e.On)
	case TooManyDependencies:
	}
	return fmt.Sprintf("%v: job %s would wait for more than %d jobs", ErrInvalid, e.Job, MaxDependencies)
}

// Unwrap returns the class of the error.
func (e *DependencyError) Unwrap() error {
	if e.Fault == MissingPredecessor {
		return ErrNotFound
	}
	return ErrInvalid
}

// Check reports why no store takes the parameters, an ErrInvalid.
func (p *DependParams) Check() error { return checkDependencies(p.Job, p.On) }

func checkDependencies(job ID, on []Dependency) error {
	for _, d := range on {
		switch {
		case d.On == ID{}:
			return fmt.Errorf("%w: job %s: a dependency has no job", ErrInvalid, job)
		case d.On == job:
			return &DependencyError{job, job, CyclicDependency}
		case d.IfFailed > HoldIfFailed:
			return fmt.Errorf("%w: job %s: unknown policy %d", ErrInvalid, job, d.IfFailed)
		}
	}
	if len(on) > MaxDependencies && len(Distinct(on)) > MaxDependencies {
		return &DependencyError{Job: job, Fault: TooManyDependencies}
	}
	return nil
}

// Distinct are the dependencies with each predecessor once, of which the last one counts.
func Distinct(on []Dependency) []Dependency {
	if len(on) < 2 {
		return on
	}
	places := make(map[ID]int, len(on))
	var list []Dependency
	for _, d := range on {
		if i, seen := places[d.On]; seen {
			list[i] = d
			continue
		}
		places[d.On] = len(list)
		list = append(list, d)
	}
	return list
}

// Lets reports whether a job with the policy need not wait for a predecessor in that state.
func (p FailurePolicy) Lets(state State) bool {
	return state == Completed || p == RunIfFailed && state.Finished()
}

// MarkPredecessors sets HasSuccessors of enqueues after which others of the list come. Stores call
// it. It returns those that come after a later one, with that: it is not there yet, unless it is
// known already.
func MarkPredecessors(enqueues []*Enqueue) (early map[*Enqueue]ID) {
	if !slices.ContainsFunc(enqueues, func(q *Enqueue) bool { return len(q.After) > 0 }) {
		return nil
	}
	places := make(map[ID]int, len(enqueues))
	for i, q := range enqueues {
		q.HasSuccessors = false
		if _, twice := places[q.Job.ID]; !twice {
			places[q.Job.ID] = i
		}
	}
	early = map[*Enqueue]ID{}
	for i, q := range enqueues {
		for _, d := range q.After {
			switch place, here := places[d.On]; {
			case here && place < i:
				enqueues[place].HasSuccessors = true
			case here:
				early[q] = d.On
			}
		}
	}
	return early
}

// FailedWords is what a job is told that is cancelled because its predecessor did not complete; 0
// is the state of one that was removed before its end was known.
func FailedWords(on ID, state State) string {
	word := state.String()
	if state == 0 {
		word = "removed"
	}
	return "job " + on.String() + ", which it came after, is " + word
}
