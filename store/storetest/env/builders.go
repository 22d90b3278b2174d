package env

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Job returns an enqueue with a fresh id and modest settings, changed by the given functions.
func (e *Env) Job(change ...func(*store.Enqueue)) *store.Enqueue {
	enqueue := &store.Enqueue{Job: store.Job{
		ID:          e.IDs.Next(),
		Namespace:   e.space,
		Queue:       "mail",
		Kind:        "send",
		Priority:    2,
		Args:        []byte(`{"to":"ada"}`),
		MaxAttempts: 3,
	}}
	for _, f := range change {
		f(enqueue)
	}
	return enqueue
}

// Queue names the queue of the job.
func Queue(name string) func(*store.Enqueue) { return func(q *store.Enqueue) { q.Job.Queue = name } }

// Kind names the kind of the job.
func Kind(name string) func(*store.Enqueue) { return func(q *store.Enqueue) { q.Job.Kind = name } }

// Priority gives the job a priority.
func Priority(p int) func(*store.Enqueue) { return func(q *store.Enqueue) { q.Job.Priority = p } }

// RunAt says when the job is to run.
func RunAt(t time.Time) func(*store.Enqueue) { return func(q *store.Enqueue) { q.Job.RunAt = t } }

// BeyondTime is one that no store keeps.
var BeyondTime = time.Date(10_000, time.January, 1, 0, 0, 0, 0, time.UTC)

// Attempts says how often the job is tried.
func Attempts(n int) func(*store.Enqueue) { return func(q *store.Enqueue) { q.Job.MaxAttempts = n } }

// Ordered gives the job an ordering key.
func Ordered(key string) func(*store.Enqueue) {
	return func(q *store.Enqueue) { q.Job.OrderingKey = key }
}

// Delay lets the job wait for so long.
func Delay(d time.Duration) func(*store.Enqueue) { return func(q *store.Enqueue) { q.Delay = d } }

// Unique gives the job a unique key that it holds in the given states, or, without any, until it is
// finished.
func Unique(key string, states ...store.State) func(*store.Enqueue) {
	return func(q *store.Enqueue) {
		q.Job.UniqueKey = []byte(key)
		q.Job.UniqueStates = store.Unfinished
		if len(states) > 0 {
			q.Job.UniqueStates = store.SetOf(states...)
		}
	}
}

// Key gives the job a business key.
func Key(text string) func(*store.Enqueue) {
	return func(q *store.Enqueue) { q.Job.Options.Key = text }
}

// KeepKey says for how long the job keeps its business key.
func KeepKey(d time.Duration) func(*store.Enqueue) {
	return func(q *store.Enqueue) { q.Job.Options.KeepKey = d }
}

// Along sends a signal with the enqueue.
func Along(signal string) func(*store.Enqueue) {
	return func(q *store.Enqueue) { q.Send = &store.Send{Message: Signal(signal)} }
}

// Args gives the job args.
func Args(text string) func(*store.Enqueue) {
	return func(q *store.Enqueue) { q.Job.Args = []byte(text) }
}

// OnConflict says what happens if the unique key is taken.
func OnConflict(c store.OnConflict) func(*store.Enqueue) {
	return func(q *store.Enqueue) { q.OnConflict = c }
}

// OnParentClose says what happens to the job when its parent ends.
func OnParentClose(policy store.ClosePolicy) func(*store.Enqueue) {
	return func(q *store.Enqueue) { q.Job.OnParentClose = policy }
}

// Child returns an enqueue of a child that answers.
func (e *Env) Child(parent store.ID, change ...func(*store.Enqueue)) *store.Enqueue {
	return e.Job(append([]func(*store.Enqueue){func(q *store.Enqueue) {
		q.Job.Parent, q.Job.Answers = parent, true
	}}, change...)...)
}

// Deadline says until when the job must have ended.
func Deadline(t time.Time) func(*store.Enqueue) {
	return func(q *store.Enqueue) { q.Job.Options.Deadline = t }
}

// Version binds the job to a version of its kind.
func Version(v string) func(*store.Enqueue) { return func(q *store.Enqueue) { q.Job.Version = v } }

// In puts the job into a namespace.
func In(namespace string) func(*store.Enqueue) {
	return func(q *store.Enqueue) { q.Job.Namespace = namespace }
}

// ID gives the job an id that is known already.
func ID(id store.ID) func(*store.Enqueue) { return func(q *store.Enqueue) { q.Job.ID = id } }

// TraceParent is that of some span.
const TraceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// Traced is a message that was sent in a span.
func Traced(m store.Message) store.Message {
	m.TraceParent = TraceParent
	return m
}
