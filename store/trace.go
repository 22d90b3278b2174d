package store

import "fmt"

const (
	// MaxTraceParent bounds what a job carries of the trace in which it was enqueued, in bytes.
	MaxTraceParent = 128
	// MaxTraceState bounds the rest of it, in bytes.
	MaxTraceState = 512
)

// CheckTrace reports why no store keeps the trace of a job, an ErrInvalid: it is too long, or has
// other characters than those that a header may have.
func (o *Options) CheckTrace() error {
	switch {
	case len(o.TraceParent) > MaxTraceParent || !isHeader(o.TraceParent):
		return fmt.Errorf("%w: its traceparent %.60q has more than %d bytes, or is no header", ErrInvalid, o.TraceParent, MaxTraceParent)
	case len(o.TraceState) > MaxTraceState || !isHeader(o.TraceState):
		return fmt.Errorf("%w: its tracestate %.60q has more than %d bytes, or is no header", ErrInvalid, o.TraceState, MaxTraceState)
	}
	return nil
}

// isHeader reports whether a text has only printable ASCII.
func isHeader(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}
