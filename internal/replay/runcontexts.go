package replay

import (
	"context"
	"sync"
)

// Contexts are the contexts of a run. base, the handler's context, ends when the run is cancelled,
// takes too long, or has lost its lease. The context of the whole run ends only when its lease is
// lost or its node stops. Compensations have one in between.
//
// Most runs need only base, and no goroutine that waits for its end: making contexts is a good part
// of what a short job costs. So the other context is made when it is first used, and whatever ends
// a context calls those that must know.
type Contexts struct {
	base    context.Context
	endBase context.CancelCauseFunc

	mu    sync.Mutex
	whole context.Context
	end   context.CancelCauseFunc
	gone  chan struct{} // closed when the whole has ended
	cause error         // of the end of the whole; nil while it lasts
}

// lasting returns the context of the whole run.
func (l *Contexts) lasting() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.whole == nil {
		l.whole, l.end = context.WithCancelCause(context.Background()) //nolint:forbidigo // the root of a run's own life
		if l.cause != nil {
			l.end(l.cause)
		}
	}
	return l.whole
}

// Over returns a channel that is closed when the whole run has ended: less than its context.
func (l *Contexts) Over() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone == nil {
		l.gone = make(chan struct{})
		if l.cause != nil {
			close(l.gone)
		}
	}
	return l.gone
}

// Ended is why the whole run has ended, or nil.
func (l *Contexts) Ended() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

// endAll ends all contexts of the run. It returns false if they had ended.
func (l *Contexts) endAll(cause error) bool {
	l.mu.Lock()
	first := l.cause == nil
	if first {
		l.cause = cause
		if l.gone != nil {
			close(l.gone)
		}
	}
	if l.end != nil {
		l.end(cause)
	}
	l.mu.Unlock()
	l.endBase(cause)
	return first
}
