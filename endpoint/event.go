package endpoint

import (
	"slices"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Event is what has happened: "job." and the state in which a job has arrived.
type Event string

// Test is the event of a test delivery.
const Test Event = "webhook.test"

// Events are those of which a webhook may be told.
var Events = func() (all []Event) {
	for _, s := range store.States {
		all = append(all, EventOf(s))
	}
	return all
}()

// EventOf is the event of a job that has arrived in a state.
func EventOf(s store.State) Event { return Event("job." + s.String()) }

// Message is what a webhook is told, as JSON: the envelope that Standard Webhooks recommends.
type Message struct {
	Type      Event     `json:"type"`
	Timestamp time.Time `json:"timestamp"` // of the change, by the clock of the database
	Data      Data      `json:"data"`
}

// Data says of which job. It has no payloads: who may see them asks for the job by its id.
type Data struct {
	ID        string       `json:"id,omitempty"`
	Namespace string       `json:"namespace"`
	Kind      string       `json:"kind,omitempty"`
	Queue     string       `json:"queue,omitempty"`
	State     string       `json:"state,omitempty"`
	Reason    store.Reason `json:"reason,omitempty"`
	Position  string       `json:"position,omitempty"` // in the feed
}

// MessageOf is what is told of a change.
func MessageOf(c *store.Change) Message {
	return Message{Type: EventOf(c.State), Timestamp: c.At.UTC(), Data: Data{
		ID: c.Job.String(), Namespace: c.Namespace, Kind: c.Kind, Queue: c.Queue, State: c.State.String(), Reason: c.Reason,
		Position: c.Position.String(),
	}}
}

// Passes reports whether a webhook of a namespace is told of a change, but for what Where says. Of
// jobs of Holdfast's own none is, or what delivers would tell of itself for ever; nor of jobs that
// are gone.
func (f *Filter) Passes(namespace string, c *store.Change) bool {
	if c.Namespace != namespace || c.Kind == "" || store.IsOwnKind(c.Kind) {
		return false
	}
	told := slices.Contains(f.Events, EventOf(c.State))
	if len(f.Events) == 0 {
		told = c.State.Finished()
	}
	return told && (len(f.Queues) == 0 || slices.Contains(f.Queues, c.Queue)) && (len(f.Kinds) == 0 || slices.Contains(f.Kinds, c.Kind))
}

func joined(all []Event) string {
	var texts []string
	for _, e := range all {
		texts = append(texts, string(e))
	}
	return strings.Join(texts, ", ")
}
