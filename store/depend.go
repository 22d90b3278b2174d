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
	// OnlyIfFailed lets it run if the other one fails, and cancels it otherwise, in words that say
	// that it is not needed.
	OnlyIfFailed    FailurePolicy = 3
	OnlyIfCancelled FailurePolicy = 4 // the same, if the other one is cancelled
)

var failurePolicies = []string{"cancel", "run", "hold", "only-failed", "only-cancelled"}

// String returns the name of the policy, as users see it everywhere.
func (p FailurePolicy) String() string { return nameOf(failurePolicies, uint8(p), "policy") }

// ParseFailurePolicy is the inverse of FailurePolicy.String. The error is an ErrInvalid.
func ParseFailurePolicy(name string) (FailurePolicy, error) {
	return numberOf[FailurePolicy](failurePolicies, name, "policy")
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

// DependParams lets a job that has not started (never claimed), and is no child, come after others,
// too, as Enqueue.After does. One that it waits for already gets the policy that is given now, also
// if that one has ended: CloseChildren does then what it says. Nothing is recorded as an action.
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
		case d.IfFailed > OnlyIfCancelled:
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
	switch p {
	case OnlyIfFailed:
		return state == Failed
	case OnlyIfCancelled:
		return state == Cancelled
	case RunIfFailed:
		return state.Finished()
	case CancelIfFailed, HoldIfFailed:
	}
	return state == Completed
}

// MarkPredecessors sets HasSuccessors of enqueues after which others of the list come. Stores call
// it. It returns those that come after a later one, with that: it is not there yet, unless it is
// known already.
func MarkPredecessors(enqueues []*Enqueue) (early map[*Enqueue]ID) {
	if !slices.ContainsFunc(enqueues, func(q *Enqueue) bool { return len(q.After)+len(q.FollowUps) > 0 }) {
		return nil
	}
	places := make(map[ID]int, len(enqueues))
	for i, q := range enqueues {
		q.HasSuccessors = q.markFollowUps()
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

// UnmetWords is what a job is told that is cancelled because of how its predecessor has ended; 0 is
// the state of one that was removed before its end was known.
func (p FailurePolicy) UnmetWords(on ID, state State) string {
	word := state.String()
	if state == 0 {
		word = "removed"
	}
	switch p {
	case OnlyIfFailed:
		return "not needed: job " + on.String() + ", for whose failure it waited, is " + word
	case OnlyIfCancelled:
		return "not needed: job " + on.String() + ", for whose cancel it waited, is " + word
	case CancelIfFailed, RunIfFailed, HoldIfFailed:
	}
	return "job " + on.String() + ", which it came after, is " + word
}

// MaxFollowUps is how many follow-ups an enqueue may have, theirs included.
const MaxFollowUps = 100

// AllFollowUps are the follow-ups of an enqueue, each before its own.
func (q *Enqueue) AllFollowUps() (list []*Enqueue) {
	for _, f := range q.FollowUps {
		list = append(append(list, f), f.AllFollowUps()...)
	}
	return list
}

// Unfold lists enqueues and, behind each, its follow-ups.
func Unfold(enqueues []*Enqueue) []*Enqueue {
	more := 0
	for _, q := range enqueues {
		more += len(q.FollowUps)
	}
	if more == 0 {
		return enqueues
	}
	list := make([]*Enqueue, 0, len(enqueues)+more)
	for _, q := range enqueues {
		list = append(append(list, q), q.AllFollowUps()...)
	}
	return list
}

// markFollowUps sets HasSuccessors of those follow-ups that have some, and reports whether the
// enqueue has.
func (q *Enqueue) markFollowUps() bool {
	for _, f := range q.FollowUps {
		f.HasSuccessors = f.markFollowUps()
	}
	return len(q.FollowUps) > 0
}

// checkFollowUps reports why the job of an enqueue cannot have its follow-ups, an ErrInvalid.
func (q *Enqueue) checkFollowUps() error {
	if len(q.FollowUps) == 0 {
		return nil
	}
	if q.Job.Parent != (ID{}) {
		return fmt.Errorf("%w: job %s is a child and has follow-ups", ErrInvalid, q.Job.ID)
	}
	all := q.AllFollowUps()
	if len(all) > MaxFollowUps {
		return fmt.Errorf("%w: job %s has %d follow-ups; at most %d are allowed", ErrInvalid, q.Job.ID, len(all), MaxFollowUps)
	}
	seen := map[ID]bool{q.Job.ID: true}
	for _, f := range all {
		if seen[f.Job.ID] {
			return fmt.Errorf("%w: two follow-ups have the id %s", ErrInvalid, f.Job.ID)
		}
		seen[f.Job.ID] = true
	}
	for _, f := range q.FollowUps {
		if err := f.checkAsFollowUp(q); err != nil {
			return err
		}
	}
	return nil
}

// checkAsFollowUp reports why the enqueue cannot be a follow-up of another one, an ErrInvalid.
func (q *Enqueue) checkAsFollowUp(of *Enqueue) error {
	switch {
	case len(q.After) != 1 || q.After[0].On != of.Job.ID:
		return fmt.Errorf("%w: job %s is a follow-up of job %s and does not come after it, and no other", ErrInvalid, q.Job.ID, of.Job.ID)
	case q.Job.Namespace != of.Job.Namespace:
		return fmt.Errorf("%w: job %s is a follow-up of job %s of another namespace", ErrInvalid, q.Job.ID, of.Job.ID)
	case q.Job.Batch != ID{}:
		return fmt.Errorf("%w: job %s is a follow-up and belongs to a batch", ErrInvalid, q.Job.ID)
	case len(q.Job.UniqueKey) > 0 || q.Job.Options.Key != "":
		return fmt.Errorf("%w: job %s is a follow-up and has a key", ErrInvalid, q.Job.ID)
	case q.KnownID || q.Send != nil:
		return fmt.Errorf("%w: job %s is a follow-up with an id of its own, or with a signal", ErrInvalid, q.Job.ID)
	}
	return q.Check()
}

// IsPlain reports whether nothing but its id can be in the way of the job, and nothing else comes
// with it.
func (q *Enqueue) IsPlain() bool {
	return len(q.Job.UniqueKey) == 0 && q.Job.Options.Key == "" && q.Job.Parent == (ID{}) && q.Job.Batch == (ID{}) &&
		len(q.After)+len(q.FollowUps) == 0
}
