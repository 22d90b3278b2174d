package replay

import (
	"context"
	"errors"

	"github.com/holdfastdev/holdfast/internal/outcome"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// Attempt makes the attempt: it calls the handler, judges what it returns, and runs what
// compensates a failure or a cancel. Nil means that nothing can be written any more. It does not
// return if the goroutine ends on the way, which is how a run parks: AfterGoexit has the outcome
// then.
func (r *Run) Attempt(ctx context.Context) *store.Outcome {
	return r.compensate(r.callAndJudge(ctx))
}

// Play makes the attempt in a goroutine of its own, waits for its end, and returns its outcome. A
// node, which has goroutines for that, calls Attempt itself.
func (r *Run) Play(ctx context.Context) *store.Outcome {
	var o *store.Outcome
	returned, done := false, make(chan struct{})
	go func() {
		defer close(done)
		o = r.Attempt(ctx)
		returned = true
	}()
	<-done
	if !returned {
		return r.AfterGoexit()
	}
	return o
}

// AfterGoexit is the outcome of a run whose goroutine ended without returning: it is parked, or
// over for this process, or the handler called runtime.Goexit, as testing.T.FailNow does. Nil means
// that nothing can be written any more.
func (r *Run) AfterGoexit() *store.Outcome {
	if o, left := r.left(); left {
		return o
	}
	return r.host.Again(store.ReasonError, usercode.ErrGoexit.Error(), "", -1)
}

// TimedOut is the outcome of a run that has used up its time, or made no progress.
func (r *Run) TimedOut(text, trace string) *store.Outcome {
	if o := r.behind(text, trace); o != nil {
		return o
	}
	if usercode.IsLate(&r.claimed.Job, r.host.Now()) {
		return &store.Outcome{State: store.Failed, Reason: store.ReasonDeadline, Error: text, Trace: trace}
	}
	reason := store.ReasonTimeout
	if errors.Is(context.Cause(r.life.Base), usercode.ErrHeartbeat) {
		reason = store.ReasonHeartbeat
	}
	return r.host.Again(reason, text, trace, -1)
}

// Closing is the outcome of a run that has failed or was cancelled, and whose strands do not end.
// If there is something to undo, which may be what they are doing, the end is decided again by
// another run.
func (r *Run) Closing(text, trace string) *store.Outcome {
	if o := r.decided(); o != nil {
		return o
	}
	return r.host.Again(store.ReasonError, text, trace, -1)
}

// callAndJudge calls the handler and judges what it returns.
func (r *Run) callAndJudge(ctx context.Context) *store.Outcome {
	if r.claimed.Durable {
		// It has children and compensations whether or not it comes to its first operation, and an
		// earlier run may have ended it.
		if err := r.load(); err != nil {
			return outcome.Unreadable(err)
		}
		if o := r.endedInTx(); o != nil {
			return o
		}
	}
	result, trace, err := r.invoke(ctx)
	if o := r.endedInTx(); o != nil {
		return o
	}
	err = r.blame(err)
	if err == nil {
		p, o := r.incomplete()
		switch {
		case p != nil:
			return r.judge(ctx, nil, p.Stack, p)
		case o != nil:
			return o
		}
	}
	return r.judge(ctx, result, trace, err)
}

// invoke calls the handler, and makes a panic an error with its stack.
func (r *Run) invoke(ctx context.Context) (result []byte, trace string, err error) {
	defer r.watch.Stop()
	defer r.mainReturned()
	defer func() {
		if p := recover(); p != nil {
			failure := usercode.PanicOf(p)
			trace, err = failure.Stack, failure
		}
	}()
	result, err = r.host.Call(ctx)
	return result, "", err
}

// mainReturned makes operations of the handler misuses, and lets those go on that wait for it.
func (r *Run) mainReturned() {
	r.main.over.Store(true)
	if m := r.state.Load(); m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.quit(&r.main)
	}
}

// judge makes an outcome of what a handler returned. Nil means that nothing can be written any
// more.
func (r *Run) judge(ctx context.Context, result []byte, trace string, err error) *store.Outcome {
	if err == nil {
		// A handler that has finished wins over a cancel, a timeout or a shutdown that came late.
		return &store.Outcome{State: store.Completed, Result: result}
	}
	cause := context.Cause(ctx)
	told := r.toldToEnd()
	r.seeCancel(told)
	is := usercode.Look(err)
	trace = usercode.CutTrace(trace)
	if errors.Is(told, usercode.ErrCancelled) || errors.Is(told, usercode.ErrTimeout) {
		r.catchUp()
	}
	if errors.Is(cause, store.ErrLeaseLost) {
		return nil // the run's own: what an error says of leases may be another's
	}
	if o := outcome.Final(&is, r.claimed.Job.Kind, trace); o != nil {
		return o
	}
	if errors.Is(told, usercode.ErrCancelled) {
		if o := r.behind(is.Text, trace); o != nil {
			return o
		}
		return &store.Outcome{State: store.Cancelled, Reason: store.ReasonCancelled, Error: usercode.CutError(cancelledBy(told, err))}
	}
	if o := outcome.Later(&is, cause, r.host.Now()); o != nil {
		return o
	}
	switch {
	case errors.Is(cause, usercode.ErrShutdown):
		o := outcome.Released()
		o.Error = is.Text
		return o
	case is.Retry != nil:
		return r.host.Again(store.ReasonError, is.Text, trace, max(is.Retry.Delay, 0))
	case errors.Is(told, usercode.ErrTimeout):
		return r.TimedOut(is.Text, trace)
	}
	return r.host.Again(store.ReasonError, is.Text, trace, -1)
}

// goesOn reports whether judge lets the job go on later, as its handler asks it to.
func (r *Run) goesOn(err error) bool {
	is := usercode.Look(r.blame(err))
	return outcome.Final(&is, r.claimed.Job.Kind, "") == nil && !errors.Is(r.toldToEnd(), usercode.ErrCancelled) &&
		outcome.Later(&is, context.Cause(r.life.Base), r.host.Now()) != nil
}

// toldToEnd is why the handler was told to end: by its context, or as its run began, since that
// context goes on while it replays.
func (r *Run) toldToEnd() error {
	if cause := context.Cause(r.life.Base); cause != nil {
		return cause
	}
	return r.ending
}

// behind is the outcome of a run that ends and has failed before it came to what it did: the next
// one knows what it has to undo. Nil means that it has come to that, or that no attempt is left.
func (r *Run) behind(text, trace string) *store.Outcome {
	o := r.host.Again(store.ReasonError, text, trace, -1)
	if o.State.Finished() || !r.isBehind() {
		return nil
	}
	return o
}
