package telemetry

import (
	"sync"

	"go.opentelemetry.io/otel/trace"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/store"
)

// LinkedRuns is how many runs a client remembers to which the next run of their job links. A run in
// another process links only to the enqueue.
const LinkedRuns = 4096

// ended are the spans of the last runs that have ended and whose jobs go on.
type ended struct {
	mu    sync.Mutex
	spans map[holdfast.ID]endedSpan
	order [LinkedRuns]holdfast.ID // a ring; one whose span was taken may be in it
	next  int
}

type endedSpan struct {
	trace.SpanContext

	place int // in the ring
}

func newEnded() *ended { return &ended{spans: map[holdfast.ID]endedSpan{}} }

func (e *ended) put(id holdfast.ID, s trace.SpanContext) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if old := e.order[e.next]; e.spans[old].place == e.next {
		delete(e.spans, old)
	}
	e.order[e.next], e.spans[id] = id, endedSpan{s, e.next}
	e.next = (e.next + 1) % LinkedRuns
}

func (e *ended) take(id holdfast.ID) (trace.SpanContext, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s, ok := e.spans[id]
	delete(e.spans, id)
	return s.SpanContext, ok
}

// optionsOf are the options of the job of a run.
func optionsOf(run *holdfast.Run) *store.Options { return &access.JobOf(run).Options }
