package bulk

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast/internal/valid"
	"github.com/holdfastdev/holdfast/store"
)

// Verb names what is done to jobs. The names are stored with operations and never change their
// meaning.
type Verb string

// The verbs.
const (
	Cancel    Verb = "cancel"
	Terminate Verb = "terminate"
	Retry     Verb = "retry"
	Pause     Verb = "pause"
	Resume    Verb = "resume"
	Move      Verb = "move"
	Priority  Verb = "priority"
	Tag       Verb = "tag"
	Delete    Verb = "delete"
)

// Action is what is done to each job.
type Action struct {
	Verb     Verb     `json:"verb"`
	Queue    string   `json:"queue,omitempty"`    // of Move
	Priority int      `json:"priority,omitempty"` // of Priority
	Add      []string `json:"add,omitempty"`      // of Tag
	Drop     []string `json:"drop,omitempty"`     // of Tag
}

// Check reports why nothing can be done by it, an ErrInvalid.
func (a *Action) Check() error {
	switch a.Verb {
	case Cancel, Terminate, Retry, Pause, Resume, Delete:
		return nil
	case Move:
		if err := valid.Name("queue", a.Queue); err != nil {
			return err
		}
		return store.CheckQueueName(a.Queue)
	case Priority:
		return valid.Priority(a.Priority)
	case Tag:
		if len(a.Add)+len(a.Drop) == 0 {
			return valid.Error("tags", "none are to be added or removed")
		}
		if err := valid.Tags(a.Add); err != nil {
			return err
		}
		return valid.Tags(a.Drop)
	}
	return valid.Error("action", "%q is none that this version knows", a.Verb)
}

// String says what it does.
func (a *Action) String() string {
	switch a.Verb { //nolint:exhaustive // the others are words by themselves
	case Move:
		return "move to queue " + a.Queue
	case Priority:
		return fmt.Sprintf("set priority %d", a.Priority)
	case Tag:
		var words []string
		if len(a.Add) > 0 {
			words = append(words, "tag "+strings.Join(a.Add, ", "))
		}
		if len(a.Drop) > 0 {
			words = append(words, "untag "+strings.Join(a.Drop, ", "))
		}
		return strings.Join(words, "; ")
	}
	return string(a.Verb)
}

// edit is the change of one job, for verbs that make one; nil for the others.
func (a *Action) edit() *store.Edit {
	switch a.Verb { //nolint:exhaustive // as it says
	case Move:
		return &store.Edit{Queue: &a.Queue}
	case Priority:
		return &store.Edit{Priority: &a.Priority}
	case Tag:
		return &store.Edit{AddTags: a.Add, DropTags: a.Drop}
	}
	return nil
}

// page is how many jobs are a page.
func (a *Action) page() int {
	if a.Verb == Resume || a.edit() != nil {
		return pageOfEdits
	}
	return PageSize
}

// isDone reports that a job is already as the action would make it, so that nothing is asked of it.
func (a *Action) isDone(r *store.Record) bool {
	switch a.Verb { //nolint:exhaustive // of the others every job is asked
	case Cancel:
		// A failed job may keep the turn of its ordering key, which a cancel makes it give up.
		return r.CancelRequested || r.State.Finished() && !(r.State == store.Failed && r.Options.KeepTurn)
	case Terminate:
		return r.State.Finished() && !(r.State == store.Failed && r.Options.KeepTurn)
	case Retry:
		return r.State == store.Available
	case Pause:
		return r.PauseRequested || r.Wait != nil && r.Wait.Held
	case Move:
		return r.Queue == a.Queue
	case Priority:
		return r.Priority == a.Priority
	case Tag:
		lacks := func(tag string) bool { return !slices.Contains(r.Tags, tag) }
		return !slices.ContainsFunc(a.Add, lacks) && !slices.ContainsFunc(a.Drop, func(tag string) bool { return !lacks(tag) })
	}
	return false
}
