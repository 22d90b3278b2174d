package replay

import (
	"errors"
	"log/slog"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// Left tells why the run has left the goroutine of its code, as an error for what is around that
// code, or nil: ErrParked, ErrShutdown, ErrLeaseLost, or that its journal could not be written.
func (s *Strand) Left() error {
	o, left := s.run.left()
	switch {
	case !left:
		return nil
	case o == nil:
		return store.ErrLeaseLost
	case o.State == store.Waiting, s.run.state.Load().isPausing():
		return usercode.ErrParked
	case o.Reason == store.ReasonReleased:
		return usercode.ErrShutdown
	}
	return errors.New(o.Error) //nolint:err113 // the text of the attempt
}

// Told is an error of the handler, or of what is around it, as what is around that is told it: an
// ErrParked if the job goes on later as the error says, or the run only comes back to undo what it
// has done, and not if the job ends, or the attempt fails.
func (s *Strand) Told(err error) error {
	switch parked := err != nil && usercode.Is(err, usercode.ErrParked); {
	case !parked && s.run.wasClosed():
		return &usercode.Told{Err: err, Parked: true}
	case parked && !s.run.wasClosed() && !s.run.goesOn(err):
		return &usercode.Told{Err: err}
	}
	return err
}

// wasClosed reports whether the end of the run was decided by an earlier run.
func (r *Run) wasClosed() bool {
	m := r.state.Load()
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.Closed != nil
}

func (m *replayState) isPausing() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pausesHere
}

// SayPanic logs a panic of what is around the code of a run that has left it: nothing depends on it
// any more.
func (s *Strand) SayPanic(p *usercode.PanicError) {
	s.run.host.Say(slog.LevelError, "a middleware panicked after its run was parked or over; the run ends as it would have",
		slog.Any(logs.KeyError, p), slog.String(logs.KeyStack, usercode.CutTrace(p.Stack)))
}
