package replay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/heartbeat"
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

// silentStepError is the cause with which the context of a step ends that made no progress. It is
// an ErrHeartbeat, but not the run's.
type silentStepError struct{}

func (silentStepError) Error() string { return usercode.ErrHeartbeat.Error() }

func (silentStepError) Unwrap() error { return usercode.ErrHeartbeat }

// expectBeats returns a context for the function of a step, which ends when the function makes no
// progress for a limit of time. A function that ignores that holds up its strand: the attempt ends,
// as that of a stuck handler. done is called when the function has returned.
func (s *Strand) expectBeats(ctx context.Context, limit time.Duration) (watched context.Context, done func()) {
	watched, end := context.WithCancelCause(ctx)
	var mu sync.Mutex
	returned, unstick := false, func() {}
	w := heartbeat.Begin(limit, func() {
		defer s.run.host.Catch("the heartbeat of a step")
		end(silentStepError{})
		mu.Lock()
		defer mu.Unlock()
		if !returned {
			unstick = s.run.host.GiveUpLater(func() bool {
				mu.Lock()
				defer mu.Unlock()
				if !returned {
					s.run.Cancel(usercode.ErrHeartbeat)
				}
				return false
			})
		}
	})
	s.watch.Store(w)
	return watched, func() {
		s.watch.Store(nil)
		w.Stop()
		mu.Lock()
		defer mu.Unlock()
		returned = true
		unstick()
		end(nil)
	}
}

// lateness is what a step's error says first if the step has taken too long, or made no progress.
func (p StepPolicy) lateness(cause error) string {
	var silent silentStepError
	switch {
	case errors.Is(cause, errStepTimeout):
		return fmt.Sprintf("timed out after %v", p.Timeout)
	case errors.As(cause, &silent):
		return fmt.Sprintf("no heartbeat for %v", p.Heartbeat)
	}
	return ""
}
