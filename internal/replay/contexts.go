package replay

import (
	"errors"

	"github.com/holdfastdev/holdfast/internal/outcome"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// ErrClosing is what operations return when the end of the run is decided.
var ErrClosing = errors.New("holdfast: the run is ending")

// Cancel ends the run for the given cause.
func (r *Run) Cancel(cause error) {
	if !errors.Is(cause, store.ErrLeaseLost) && !errors.Is(cause, usercode.ErrShutdown) {
		r.endMain(cause)
		return
	}
	if r.life.EndAll(cause) && r.life.Base != nil {
		r.tell(cause)
	}
}

// endMain ends the handler's context.
func (r *Run) endMain(cause error) {
	if r.life.Base.Err() != nil {
		return
	}
	r.life.EndBase(cause)
	if r.untime == nil { // else its context tells
		r.tell(cause)
	}
}

// tell passes on that a context of the run has ended: to those who wait in the run, and to who
// gives it up if it does not return.
func (r *Run) tell(cause error) {
	r.host.Ended(cause)
	if m := r.state.Load(); m != nil {
		// Not here: the caller may hold its lock.
		go m.toldOf(cause)
	}
}

// toldOf is ended for a goroutine of its own.
func (m *replayState) toldOf(cause error) {
	defer m.run.host.Catch("the end of a run's context")
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended(cause)
}

// ended reacts to the end of the run's context; nil: it has not ended.
func (m *replayState) ended(cause error) {
	m.leaveIfEnded()
	if m.ending == nil {
		m.endsBecauseOf(cause)
	}
}

// endsBecauseOf makes a run end that is cancelled or late, and reports whether it is one.
func (m *replayState) endsBecauseOf(cause error) bool {
	if !errors.Is(cause, usercode.ErrCancelled) && !errors.Is(cause, usercode.ErrTimeout) {
		return false
	}
	if m.ending == nil {
		m.ending = cause
	}
	m.wakeAll()
	return true
}

// leaveIfEnded is leave for a run that another node has now, or that its node gives back.
func (m *replayState) leaveIfEnded() {
	switch cause := m.run.life.Ended(); {
	case cause == nil:
	case errors.Is(cause, store.ErrLeaseLost):
		m.leave(nil)
	default:
		m.leave(outcome.Released())
	}
}

// failed is the outcome of an attempt that fails with an error that is not the handler's.
func (r *Run) failed(err error) *store.Outcome {
	return r.host.Again(store.ReasonError, usercode.CutError(err.Error()), "", -1)
}
