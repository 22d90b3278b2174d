package replay

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/internal/lifetime"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// Init prepares the run of a job that was claimed.
func (r *Run) Init(host Host, claimed *store.Claimed) {
	r.host, r.claimed = host, claimed
	r.main.run = r
}

// Start begins the run, and returns the context of its handler. It ends with ErrTimeout after the
// limit, if that is positive, and at the deadline of the job. A durable run that is ending from the
// beginning, as its claim told, has no deadline any more.
func (r *Run) Start(now time.Time, limit time.Duration) context.Context {
	r.ending = usercode.EndingOf(r.claimed, now)
	if deadline := r.claimed.Job.Options.Deadline; !deadline.IsZero() && r.ending == nil {
		if left := deadline.Sub(now); limit == 0 || left < limit {
			limit = left
		}
	}
	l := &r.life
	l.Base, l.EndBase = context.WithCancelCause(context.Background()) //nolint:forbidigo // the root of a run's own context
	if limit <= 0 {
		return l.Base
	}
	timed, stop := context.WithTimeoutCause(l.Base, limit, usercode.ErrTimeout)
	l.Base = timed
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

// load reads what the job remembers, if that was not done: a run has children and compensations
// whether or not it asks for them.
func (r *Run) load() error {
	_, err := r.remember()
	return err
}

// Stop ends what is left of the run's contexts, if it was started.
func (r *Run) Stop() {
	if r.untime != nil {
		r.untime()
	}
	r.watch.Stop()
	if r.life.Base != nil {
		r.life.EndAll(context.Canceled)
	}
}

// HasEnded reports whether the handler's context has ended.
func (r *Run) HasEnded() bool { return r.life.Base.Err() != nil }

// Life returns the contexts of the run.
func (r *Run) Life() *lifetime.Contexts { return &r.life }

// IsCompensating reports whether compensations run, which have a time of their own.
func (r *Run) IsCompensating() bool { return r.undoing.Load() && r.life.Ended() == nil }

// Pause makes a durable run stop at its next operation.
func (r *Run) Pause() {
	r.pausing.Store(true)
	if m := r.state.Load(); m != nil {
		m.hold()
	}
}
