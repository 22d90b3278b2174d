package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// Durable is one run of a durable function: one attempt of its job. It costs next to nothing until the function uses one of its
// operations.
type Durable struct {
	host    Host
	claimed *store.Claimed
	limit   JournalLimit

	main  Strand // of the handler itself
	fault fault  // of the handler's strands
	life  life

	remembering sync.Mutex
	memory      atomic.Pointer[memory] // of a run that asked for it
	ending      error                  // it is ending, as its claim told
	pausing     atomic.Bool            // somebody asked to pause it

	mu      sync.Mutex
	undoing bool            // compensations run
	undo    context.Context // theirs
}

// begin prepares the run of a job that was claimed.
func (r *Durable) begin(host Host, claimed *store.Claimed, limit JournalLimit) {
	r.host, r.claimed, r.limit = host, claimed, limit
	r.main.run, r.main.fault = r, &r.fault
}

// over notes that the handler has returned: its operations are misuses from then on.
func (r *Durable) over() { r.main.over.Store(true) }

// completed tells what keeps a run from being completed whose handler has returned no error: a strand that has panicked and was not
// awaited, or a journal that has more than the code asks for.
func (r *Durable) completed() (*usercode.PanicError, *store.Outcome) {
	m := r.memory.Load()
	if m == nil {
		return nil, nil
	}
	if p := m.abandonedPanic(); p != nil {
		return p, nil
	}
	if what := m.unvisited(); what != "" {
		return nil, nondeterminism(what)
	}
	return nil, nil
}

// left reports whether the run has left the handler's goroutine by itself, since it is parked, or over for this process, and with which
// outcome; nil: there is nothing to write.
func (r *Durable) left() (o *store.Outcome, left bool) {
	m := r.memory.Load()
	if m == nil {
		return nil, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.outcome, m.exiting
}

// end is the outcome of a run whose end is decided, and that has nothing to undo, or nil.
func (r *Durable) end() *store.Outcome {
	m := r.memory.Load()
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.decided == nil || len(m.undos) > 0 {
		return nil
	}
	o := *m.decided
	return &o
}

// final returns what is to be stored together with the outcome, and completes the outcome with what the run knows. remembers is false
// if the function has used no operation.
func (r *Durable) final(o *store.Outcome) (a *store.Append, remembers bool) {
	m := r.memory.Load()
	if m == nil {
		return nil, false
	}
	return m.final(o), true
}

// failed is the outcome of an attempt that fails with an error that is not the handler's.
func (r *Durable) failed(err error) *store.Outcome {
	return r.host.Failed(usercode.CutError(err.Error()))
}

// beginUndo makes the context of compensations. Their time is their own: the end of the handler's context has begun them, perhaps.
func (r *Durable) beginUndo() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.undoing, r.undo = true, r.life.lasting()
}

func (r *Durable) isUndoing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.undoing
}

// pause makes a durable run stop at its next operation.
func (r *Durable) pause() {
	r.pausing.Store(true)
	if m := r.memory.Load(); m != nil {
		m.hold()
	}
}

// sawCancel reports whether the run knows that somebody asked to cancel its job.
func (r *Durable) sawCancel() bool {
	return r.claimed.CancelRequested || r.life.base != nil && errors.Is(context.Cause(r.life.base), usercode.ErrCancelled)
}

// cancel ends the run for the given cause.
func (r *Durable) cancel(cause error) {
	if !errors.Is(cause, store.ErrLeaseLost) && !errors.Is(cause, usercode.ErrShutdown) {
		r.endMain(cause)
		return
	}
	if r.life.endAll(cause) && r.life.base != nil {
		r.tell(cause)
	}
}

// endMain ends the handler's context.
func (r *Durable) endMain(cause error) {
	if r.life.base.Err() != nil {
		return
	}
	r.life.endBase(cause)
	if !r.life.timed {
		r.tell(cause)
	}
}

// tell passes on that a context of the run has ended: to those who wait in the run, and to who gives it up if it does not return.
func (r *Durable) tell(cause error) {
	r.host.Ended(cause)
	if m := r.memory.Load(); m != nil {
		// Not here: the caller may hold its lock.
		go m.toldOf(cause)
	}
}

// endsUnwritten makes the outcome of a run that of one that failed, because its journal could not be
// completed: an attempt like any other, with its backoff, and the last one if there is none left.
func (r *Durable) endsUnwritten(o *store.Outcome, err error) {
	failed := r.failed(err)
	o.State, o.Reason, o.Error, o.Trace, o.Delay = failed.State, failed.Reason, failed.Error, failed.Trace, failed.Delay
	o.Result, o.Wait, o.Continue = nil, nil, nil
}

// unreadable is the outcome of a run that cannot go on before the database answers.
func unreadable(err error) *store.Outcome {
	return &store.Outcome{State: store.Retryable, Reason: store.ReasonError, Error: usercode.CutError(err.Error()), Delay: 5 * time.Second}
}
