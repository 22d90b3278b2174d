package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// The labels of the goroutines that run handlers.
const (
	labelJob  = "holdfast_job"
	labelKind = "holdfast_kind"
)

// giveUpLater waits, from the moment a run's context has ended, for the handler to return. A handler that does not is
// reported with its stack, the job's outcome is what the end of the context calls for, and its slot goes to the next job.
// The goroutine cannot be killed and stays; what it returns some day is dropped.
func (n *node) giveUpLater(ctx context.Context, x *execution) {
	time.AfterFunc(n.cfg.StuckAfter, func() {
		x.run.mu.Lock()
		over := x.run.over || x.run.undoing && x.run.life.Err() == nil
		x.run.mu.Unlock()
		if over {
			return
		}
		n.giveUp(x, context.Cause(ctx))
	})
}

func (n *node) giveUp(x *execution, cause error) {
	c := x.run.claimed
	stack := stackOf(c.Job.ID)
	text := fmt.Sprintf("the handler ignored the end of its context (%v) for %v and was left behind", cause, n.cfg.StuckAfter)
	var o *store.Outcome
	switch {
	case errors.Is(cause, ErrCancelled):
		o = &store.Outcome{State: store.Cancelled, Reason: store.ReasonCancelled, Error: cause.Error()}
	case errors.Is(cause, ErrShutdown):
		o = &store.Outcome{State: store.Available, Reason: store.ReasonReleased, Error: text}
	case errors.Is(cause, ErrTimeout):
		o = x.timedOut(text, cut(stack, maxTrace))
	}
	if n.settleElsewhere(x, o) {
		n.log.Error("handler is stuck: it ignores its context; its job is taken from it, its goroutine stays",
			"job", c.Job.ID, "kind", c.Job.Kind, "attempt", c.Job.Attempt, "cause", cause, "stack", stack)
	}
}

// stackOf returns the stack of the goroutines that carry the job's label, or "" if there are none.
func stackOf(job store.ID) string {
	var all bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		return ""
	}
	// The profile is one paragraph for each distinct stack, with the labels in a line of their own.
	var found []string
	for paragraph := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(paragraph, job.String()) {
			found = append(found, paragraph)
		}
	}
	return strings.Join(found, "\n\n")
}
