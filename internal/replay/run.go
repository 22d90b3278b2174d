package replay

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// Run is one run of a durable function: one attempt of its job. It costs next to nothing until the function uses one of its
// operations.
type Run struct {
	host    Host
	claimed *store.Claimed

	main Strand // of the handler itself
	life Life

	untime func() // ends what watches the time of the handler's context; nil: nothing does

	remembering sync.Mutex
	memory      atomic.Pointer[memory] // of a run that asked for it
	ending      error                  // it is ending, as its claim told
	pausing     atomic.Bool            // somebody asked to pause it
	undoing     atomic.Bool            // compensations run
}

// Init prepares the run of a job that was claimed.
func (r *Run) Init(host Host, claimed *store.Claimed) {
	r.host, r.claimed = host, claimed
	r.main.run = r
}

// Start begins the run, and returns the context of its handler, which ends after the limit with ErrTimeout, if that is positive. ending is
// why the run is ending from the beginning, as its claim told, or nil.
func (r *Run) Start(ending error, limit time.Duration) context.Context {
	r.ending = ending
	l := &r.life
	l.base, l.endBase = context.WithCancelCause(context.Background()) //nolint:forbidigo // the root of a run's own context
	if limit <= 0 {
		return l.base
	}
	timed, stop := context.WithTimeoutCause(l.base, limit, usercode.ErrTimeout)
	l.base, l.timed = timed, true
	unwatch := context.AfterFunc(timed, func() {
		defer r.host.Catch("the end of a run's context")
		r.tell(context.Cause(timed))
	})
	r.untime = func() {
		unwatch()
		stop()
	}
	return timed
}

// Load reads what the job remembers, if that was not done: a run has children and compensations whether or not it asks for them.
func (r *Run) Load() error {
	_, err := r.remember()
	return err
}

// Stop ends what is left of the run's contexts, if it was started.
func (r *Run) Stop() {
	if r.untime != nil {
		r.untime()
	}
	if r.life.base != nil {
		r.life.endAll(context.Canceled)
	}
}

// Ending is why the run is ending from the beginning, or nil.
func (r *Run) Ending() error { return r.ending }

// HasEnded reports whether the handler's context has ended.
func (r *Run) HasEnded() bool { return r.life.base.Err() != nil }

// Life is that of the whole run.
func (r *Run) Life() *Life { return &r.life }

// IsCompensating reports whether compensations run, which have a time of their own.
func (r *Run) IsCompensating() bool { return r.undoing.Load() && r.life.Ended() == nil }

// Returned notes that the handler has returned: its operations are misuses from then on.
func (r *Run) Returned() { r.main.over.Store(true) }

// Completed tells what keeps a run from being completed whose handler has returned no error: a strand that has panicked and was not
// awaited, or a journal that has more than the code asks for.
func (r *Run) Completed() (*usercode.PanicError, *store.Outcome) {
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

// Left reports whether the run has left the handler's goroutine by itself, since it is parked, or over for this process, and with which
// outcome; nil: there is nothing to write.
func (r *Run) Left() (o *store.Outcome, left bool) {
	m := r.memory.Load()
	if m == nil {
		return nil, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.outcome, m.exiting
}

// Decided is the outcome of a run whose end is decided, and that has nothing to undo, or nil.
func (r *Run) Decided() *store.Outcome {
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

// Final returns what is to be stored together with the outcome, and completes the outcome with what the run knows. remembers is false
// if the function has used no operation.
func (r *Run) Final(o *store.Outcome) (a *store.Append, remembers bool) {
	m := r.memory.Load()
	if m == nil {
		return nil, false
	}
	return m.final(o), true
}

// failed is the outcome of an attempt that fails with an error that is not the handler's.
func (r *Run) failed(err error) *store.Outcome {
	return r.host.Failed(usercode.CutError(err.Error()))
}

// Pause makes a durable run stop at its next operation.
func (r *Run) Pause() {
	r.pausing.Store(true)
	if m := r.memory.Load(); m != nil {
		m.hold()
	}
}

// SawCancel reports whether the run knows that somebody asked to cancel its job.
func (r *Run) SawCancel() bool {
	return r.claimed.CancelRequested || r.life.base != nil && errors.Is(context.Cause(r.life.base), usercode.ErrCancelled)
}

// Cancel ends the run for the given cause.
func (r *Run) Cancel(cause error) {
	if !errors.Is(cause, store.ErrLeaseLost) && !errors.Is(cause, usercode.ErrShutdown) {
		r.endMain(cause)
		return
	}
	if r.life.endAll(cause) && r.life.base != nil {
		r.tell(cause)
	}
}

// endMain ends the handler's context.
func (r *Run) endMain(cause error) {
	if r.life.base.Err() != nil {
		return
	}
	r.life.endBase(cause)
	if !r.life.timed {
		r.tell(cause)
	}
}

// tell passes on that a context of the run has ended: to those who wait in the run, and to who gives it up if it does not return.
func (r *Run) tell(cause error) {
	r.host.Ended(cause)
	if m := r.memory.Load(); m != nil {
		// Not here: the caller may hold its lock.
		go m.toldOf(cause)
	}
}

// endsUnwritten makes the outcome of a run that of one that failed, because its journal could not be
// completed: an attempt like any other, with its backoff, and the last one if there is none left.
func (r *Run) endsUnwritten(o *store.Outcome, err error) {
	failed := r.failed(err)
	o.State, o.Reason, o.Error, o.Trace, o.Delay = failed.State, failed.Reason, failed.Error, failed.Trace, failed.Delay
	o.Result, o.Wait, o.Continue = nil, nil, nil
}

// Unreadable is the outcome of a run that cannot go on before the database answers.
func Unreadable(err error) *store.Outcome {
	return &store.Outcome{State: store.Retryable, Reason: store.ReasonError, Error: usercode.CutError(err.Error()), Delay: 5 * time.Second}
}
