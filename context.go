package holdfast

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/internal/replay"
)

// WithContext returns a run that has the values of ctx, as well as its own: the handler that is
// given it, or a middleware that passes it on, finds them in the run, and so do the steps, strands
// and compensations that it begins. The end of ctx means nothing; a run ends as it always does. A
// value that several calls have given is that of the last one.
func (r *Run) WithContext(ctx context.Context) *Run {
	with := *r
	with.values = ctx
	return &with
}

// RunFrom returns the run that a context belongs to: that of a handler, a strand, a compensation or
// a step, or one that was made from it. So code below a handler can log with Run.Logger, or report
// Run.Heartbeat, without being given the run. In a step it must not use the run's operations.
func RunFrom(ctx context.Context) (*Run, bool) {
	run, ok := ctx.Value(runKey{}).(*Run)
	return run, ok
}

// StepAttempt returns the number of the attempt of the step whose function has this context, or one
// made from it; the first is 1. Outside of a step it is 0.
func StepAttempt(ctx context.Context) int {
	attempt, _ := ctx.Value(stepKey{}).(int)
	return attempt
}

type (
	runKey  struct{}
	stepKey struct{}
)

// Value makes the run the context of its handler: it returns the values given to WithContext.
func (r *Run) Value(key any) any {
	if key == (runKey{}) {
		return r
	}
	return r.value(r.Context, key)
}

// value looks first at the context that ends, which has no values but what package context looks
// for itself, and may not get from another one.
func (r *Run) value(ends context.Context, key any) any {
	if v := ends.Value(key); v != nil || r.values == nil {
		return v
	}
	return r.values.Value(key)
}

// with returns the run for another strand of it.
func (r *Run) with(ctx context.Context, strand *replay.Strand) *Run {
	return &Run{Context: ctx, run: r.run, client: r.client, strand: strand, values: r.values}
}

// stepContext returns the context of a step's function for one of its attempts. ends is how it
// ends.
func (r *Run) stepContext(ends context.Context, attempt int) context.Context {
	if attempt == 1 && ends == r.strand.Context() {
		return (*firstAttempt)(r) // most are, and need no context of their own
	}
	return &stepContext{ends, r, attempt}
}

type stepContext struct {
	context.Context

	run     *Run
	attempt int
}

func (c *stepContext) Value(key any) any {
	switch key.(type) {
	case stepKey:
		return c.attempt
	case runKey:
		return c.run
	}
	return c.run.value(c.Context, key)
}

// firstAttempt is a run as the context of the first attempt of its steps, if that ends as the
// strand does. It never changes, so all such steps share it.
type firstAttempt Run

func (c *firstAttempt) ends() context.Context { return c.strand.Context() }

func (c *firstAttempt) Deadline() (time.Time, bool) { return c.ends().Deadline() }

func (c *firstAttempt) Done() <-chan struct{} { return c.ends().Done() }

func (c *firstAttempt) Err() error { return c.ends().Err() }

func (c *firstAttempt) Value(key any) any {
	switch key.(type) {
	case stepKey:
		return 1
	case runKey:
		return (*Run)(c)
	}
	return (*Run)(c).value(c.ends(), key)
}
