package replay

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/internal/heartbeat"
	"github.com/holdfastdev/holdfast/internal/tries"
	"github.com/holdfastdev/holdfast/internal/usercode"
)

// ExpectBeats ends the handler's context with ErrHeartbeat when the run makes no progress for a
// limit of time. It is called after Start.
func (r *Run) ExpectBeats(limit time.Duration) {
	r.watch = heartbeat.Begin(limit, func() {
		defer r.host.Catch("the heartbeat of a run")
		r.Cancel(usercode.ErrHeartbeat)
	})
}

// Beat notes that the code of the strand makes progress. It may be called from anywhere.
func (s *Strand) Beat() {
	s.run.watch.Beat()
	s.watch.Load().Beat()
}

// Hold stops the time for the strand's progress while it waits for the database. Release ends that.
func (s *Strand) Hold() {
	s.run.watch.Hold()
	s.watch.Load().Hold()
}

// Release ends a Hold, and is a beat.
func (s *Strand) Release() {
	s.run.watch.Release()
	s.watch.Load().Release()
}

// expectBeats returns a context for the function of a step, which ends when the function makes no
// progress for a limit of time. done is called when the function has returned.
func (s *Strand) expectBeats(ctx context.Context, limit time.Duration) (watched context.Context, done func()) {
	watched, w, stop := tries.ExpectBeats(ctx, limit, s.run.host, func() { s.run.Cancel(usercode.ErrHeartbeat) })
	s.watch.Store(w)
	return watched, func() {
		s.watch.Store(nil)
		stop()
	}
}
