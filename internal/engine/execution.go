package engine

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// execution is a run that a slot is busy with. It ends once: by its handler, or by being given up as stuck.
type execution struct {
	run     *Run
	handler *Handler
	worker  *worker
}

// work runs a job in a slot, and then the jobs that waited for the slot. The goroutine owns one count of node.handlers
// and the slot, until a run is given up as stuck: then both pass to the goroutine that gave it up. Without a job it rests.
func (n *node) work(c store.Claimed) {
	w := newWorker()
	for {
		following, ok, mine := n.execute(c, w)
		if !mine {
			return
		}
		if !ok {
			if following, ok = n.rest(); !ok {
				return
			}
		}
		c = following
	}
}

// maxResting bounds the goroutines that rest.
const maxResting = 1000

// rest gives the count of node.handlers back and waits for a job that comes with one: a goroutine whose stack has grown is worth keeping.
func (n *node) rest() (c store.Claimed, ok bool) {
	if n.resting.Add(1) > maxResting {
		n.resting.Add(-1)
		n.handlers.Done()
		return store.Claimed{}, false
	}
	n.rested.Add(1)
	defer n.rested.Done()
	n.handlers.Done()
	select {
	case c = <-n.rouse:
		ok = true
	case <-n.retire:
	}
	n.resting.Add(-1)
	return c, ok
}

// run lets a job begin, in a goroutine that rests or in a new one.
func (n *node) run(c store.Claimed) {
	n.handlers.Add(1)
	select {
	case n.rouse <- c:
	default:
		go n.work(c)
	}
}

// execute runs one job to its end. mine is false if the run was given up meanwhile.
//
// Whatever panics on the way ends this run and nothing else: its slot and its count go on.
func (n *node) execute(c store.Claimed, w *worker) (following store.Claimed, ok, mine bool) {
	x := n.executionOf(c, w)
	defer x.run.durable.Stop()
	returned := false
	defer func() {
		if !returned {
			n.goneFrom(x, recover())
		}
	}()
	verdict := n.verdict(x)
	returned = true
	if verdict == nil {
		return n.endUnwritten(x)
	}
	return n.settleFirst(x, verdict)
}

func (n *node) executionOf(c store.Claimed, w *worker) *execution {
	run := &Run{claimed: c, node: n}
	run.durable.Init(run, &run.claimed)
	if c.Checkpoint != nil {
		run.checkpoint, run.has = *c.Checkpoint, true
	}
	x := &execution{run: run, handler: n.engine.handlers[c.Job.Kind], worker: w}
	run.execution = x
	return x
}

// verdict is the outcome of a run, and makes it before that unless the job is not to be run at all.
// Nil means that nothing can be written any more.
func (n *node) verdict(x *execution) *store.Outcome {
	c, run := x.run.claimed, x.run
	if verdict, settled := n.refuse(x.handler, c); settled {
		return verdict
	}
	ctx := n.contextOf(x)
	n.slots.begin(x)
	n.tellStart(run)
	if n.id.Load() != c.Lease.Node {
		run.durable.Cancel(store.ErrLeaseLost) // the node was declared dead while the job waited for its slot
	}
	return run.durable.Compensate(x.conclude(ctx))
}

// goneFrom settles a run whose goroutine ends here, by runtime.Goexit or by a panic; its slot goes on.
// What panicked was not the handler, which invoke has seen to.
func (n *node) goneFrom(x *execution, p any) {
	var o *store.Outcome // if not even this can be told, the beat finds the lease
	n.engine.guard.Try("the end of a run", func() {
		if p == nil {
			o = x.goneOut()
			return
		}
		n.engine.guard.Report("the end of a run", p, false)
		o = x.panicked(p)
	})
	go n.settleElsewhere(x, o)
}

// conclude calls the handler and judges what it returns.
func (x *execution) conclude(ctx context.Context) *store.Outcome {
	if x.run.claimed.Job.Closing || x.run.durable.Ending() != nil {
		if err := x.run.durable.Load(); err != nil {
			return replay.Unreadable(err)
		}
	}
	result, trace, err := invoke(ctx, x)
	err = x.run.durable.Blame(err)
	if x.run.claimed.Durable && !errors.Is(context.Cause(ctx), store.ErrLeaseLost) {
		// It may have ended before its first operation, and has children and compensations all the same.
		if err := x.run.durable.Load(); err != nil {
			return replay.Unreadable(err)
		}
	}
	if err == nil {
		p, o := x.run.durable.Completed()
		switch {
		case p != nil:
			return judge(ctx, x, nil, p.Stack, p)
		case o != nil:
			return o
		}
	}
	return judge(ctx, x, result, trace, err)
}

// panicked is the outcome of a run whose end panicked.
func (x *execution) panicked(p any) *store.Outcome {
	return x.again(store.ReasonError, usercode.CutError(usercode.PanicText(p)), usercode.CutTrace(string(debug.Stack())), time.Second)
}

// goneOut is the outcome of a handler whose goroutine ended without returning: it is parked, or over for this process,
// or called runtime.Goexit, as testing.T.FailNow does. Nil means that nothing can be written any more.
func (x *execution) goneOut() *store.Outcome {
	if o, left := x.run.durable.Left(); left {
		return o
	}
	return x.again(store.ReasonError, "the handler ended its goroutine (runtime.Goexit)", "", -1)
}

// refuse decides jobs that are not to be run at all. A durable one that has begun ends itself.
func (n *node) refuse(h *Handler, c store.Claimed) (*store.Outcome, bool) {
	switch deadline := c.Job.Options.Deadline; {
	case h == nil:
		return &store.Outcome{State: store.Available, Reason: store.ReasonReleased}, true
	case c.Durable:
		return nil, false
	case c.CancelRequested:
		return &store.Outcome{State: store.Cancelled, Reason: store.ReasonCancelled, Error: "cancelled before it started"}, true
	case !deadline.IsZero() && !n.store.Now().Before(deadline):
		return &store.Outcome{
			State: store.Failed, Reason: store.ReasonDeadline,
			Error: "the deadline, " + deadline.Format(time.RFC3339) + ", had passed before the attempt began",
		}, true
	}
	return nil, false
}

// endOf tells why a durable run that begins is ending, if it is.
func endOf(c *store.Claimed, now time.Time) error {
	switch deadline := c.Job.Options.Deadline; {
	case !c.Durable:
	case c.CancelRequested:
		return usercode.CancelCause(c.CancelReason)
	case !deadline.IsZero() && !now.Before(deadline):
		return usercode.ErrTimeout
	}
	return nil
}

// contextOf makes the context of a run, which ends with a cause: its timeout, the job's deadline, a
// cancel, a lost lease, the shutdown.
func (n *node) contextOf(x *execution) context.Context {
	r := x.run
	job := &r.claimed.Job
	r.started = n.store.Now()
	ending := endOf(&r.claimed, r.started)
	limit := x.handler.timeout(*job)
	if deadline := job.Options.Deadline; !deadline.IsZero() && ending == nil {
		if left := deadline.Sub(r.started); limit == 0 || left < limit {
			limit = left
		}
	}
	return r.durable.Start(ending, limit)
}

// invoke calls the handler, and makes a panic an error with its stack.
func invoke(ctx context.Context, x *execution) (result []byte, trace string, err error) {
	x.worker.label(x.handler.Kind)
	defer x.run.durable.Returned()
	defer func() {
		if p := recover(); p != nil {
			failure := usercode.PanicOf(p)
			trace, err = failure.Stack, failure
		}
	}()
	result, err = x.handler.Run(ctx, x.run)
	return result, "", err
}

// judge makes an outcome of what a handler returned. Nil means that nothing can be written any more.
func judge(ctx context.Context, x *execution, result []byte, trace string, err error) *store.Outcome {
	if err == nil {
		// A handler that has finished wins over a cancel, a timeout or a shutdown that came late.
		return &store.Outcome{State: store.Completed, Result: result}
	}
	cause := context.Cause(ctx)
	told := cause
	if told == nil {
		told = x.run.durable.Ending() // it was told as it began, and its context goes on while it replays
	}
	r := usercode.Look(err)
	trace = usercode.CutTrace(trace)
	if errors.Is(told, usercode.ErrCancelled) || errors.Is(told, usercode.ErrTimeout) {
		x.run.durable.CatchUp()
	}
	switch {
	case errors.Is(cause, store.ErrLeaseLost):
		return nil // the run's own: what an error says of leases may be another's
	case r.Cancel != nil:
		return &store.Outcome{State: store.Cancelled, Reason: store.ReasonCancelled, Error: usercode.CutError(r.Cancel.Reason)}
	case r.Fail != nil, r.Step != nil && r.Step.Permanent, r.Full:
		return &store.Outcome{State: store.Failed, Reason: store.ReasonTerminal, Error: r.Text, Trace: trace}
	case errors.Is(told, usercode.ErrCancelled):
		if o := x.behind(r.Text, trace); o != nil {
			return o
		}
		return &store.Outcome{State: store.Cancelled, Reason: store.ReasonCancelled, Error: usercode.CutError(replay.CancelledBy(told, err))}
	case r.ContinueAsNew != nil && cause == nil:
		return &store.Outcome{State: store.Available, Continue: &store.Continue{Args: r.ContinueAsNew.Args, Codec: r.ContinueAsNew.Codec}}
	case r.Snooze != nil:
		return &store.Outcome{State: store.Scheduled, Reason: store.ReasonSnoozed, Delay: max(r.Snooze.Delay, 0)}
	case errors.Is(cause, usercode.ErrShutdown):
		return &store.Outcome{State: store.Available, Reason: store.ReasonReleased, Error: r.Text}
	case r.Retry != nil:
		return x.again(store.ReasonError, r.Text, trace, max(r.Retry.Delay, 0))
	case errors.Is(told, usercode.ErrTimeout):
		return x.timedOut(r.Text, trace)
	}
	return x.again(store.ReasonError, r.Text, trace, -1)
}

// again lets the job be tried once more after the delay, or after its backoff if that is negative; or fails it when no attempt is left.
func (x *execution) again(reason store.Reason, text, trace string, delay time.Duration) *store.Outcome {
	job := &x.run.claimed.Job
	o := &store.Outcome{State: store.Retryable, Reason: reason, Error: text, Trace: trace}
	if job.Attempt >= x.handler.maxAttempts(job) {
		o.State = store.Failed
		if reason == store.ReasonError {
			o.Reason = store.ReasonAttemptsExhausted
		}
		return o
	}
	if delay < 0 {
		n := x.run.node
		delay = x.handler.backoff(job, n.policies[x.handler.Kind], n.lines)
	}
	o.Delay = delay
	return o
}

// behind is the outcome of a run that ends and has failed before it came to what it did: the next one
// knows what it has to undo. Nil means that it has come to that, or that no attempt is left.
func (x *execution) behind(text, trace string) *store.Outcome {
	o := x.again(store.ReasonError, text, trace, -1)
	if o.State.Finished() || !x.run.durable.IsBehind() {
		return nil
	}
	return o
}

func (x *execution) timedOut(text, trace string) *store.Outcome {
	if o := x.behind(text, trace); o != nil {
		return o
	}
	job := x.run.claimed.Job
	if deadline := job.Options.Deadline; !deadline.IsZero() && !x.run.node.store.Now().Before(deadline) {
		return &store.Outcome{State: store.Failed, Reason: store.ReasonDeadline, Error: text, Trace: trace}
	}
	return x.again(store.ReasonTimeout, text, trace, -1)
}

// settleFirst settles the run if nobody has done so before.
func (n *node) settleFirst(x *execution, o *store.Outcome) (following store.Claimed, ok, mine bool) {
	last, first := x.run.finish()
	if !first {
		return store.Claimed{}, false, false
	}
	if o.State == store.Completed {
		last = nil
	}
	following, ok = n.commitAndGoOn(x, o, last)
	return following, ok, true
}

// settleElsewhere settles a run from another goroutine than the one that ran it, which then owns nothing any more. It reports
// whether nobody had done so before. A nil outcome means that nothing can be written.
func (n *node) settleElsewhere(x *execution, o *store.Outcome) bool {
	var (
		following store.Claimed
		ok, mine  bool
	)
	if o == nil {
		following, ok, mine = n.endUnwritten(x)
	} else {
		following, ok, mine = n.settleFirst(x, o)
	}
	switch {
	case !mine:
	case ok:
		go n.work(following)
	default:
		n.handlers.Done()
	}
	return mine
}

// commitAndGoOn hands the outcome to the committer and the slot to the next job. The slot does not wait for the commit,
// unless too many outcomes wait for theirs already: then the database is the slow part, and more would not help it.
// It goes on whatever panics here; a lease that is left behind then is found by the beat.
func (n *node) commitAndGoOn(x *execution, o *store.Outcome, last *store.CheckpointWrite) (store.Claimed, bool) {
	var durable <-chan struct{}
	n.engine.guard.Try("the end of a run", func() { durable = n.hand(x, o, last) })
	if durable != nil {
		<-durable
	}
	return n.goOn(x)
}

// hand completes an outcome and hands it to the committer. It returns what to wait for, or nil.
func (n *node) hand(x *execution, o *store.Outcome, last *store.CheckpointWrite) <-chan struct{} {
	c := x.run.claimed
	o.Lease, o.StartedAt = c.Lease, x.run.started
	o.HasUnique, o.HasOrdering, o.Answers = c.Job.UniqueKey != nil, c.Job.OrderingKey != "", c.Job.Answers
	o.Parent, o.Namespace, o.Queue = c.Job.Parent, c.Job.Namespace, c.Job.Queue
	o.Durable, o.CancelSeen = c.Durable, x.run.durable.SawCancel()
	var remembered *store.Append
	if a, remembers := x.run.durable.Final(o); remembers {
		remembered = a
		if x.handler != nil {
			o.Version = x.handler.bindTo()
		}
	}
	o.Error, o.Trace = usercode.ValidText(o.Error), usercode.ValidText(o.Trace)
	return n.finish(o, x.run.about(), last, remembered)
}

// goOn ends the account of a run, and hands its slot to the next job.
func (n *node) goOn(x *execution) (following store.Claimed, ok bool) {
	now := time.Now() //nolint:forbidigo // should the store's clock panic: the slot is to go on
	n.engine.guard.Try("the end of a run", func() { now = n.store.Now() })
	following, ok = n.slots.next(x.run.claimed, x, now)
	n.dispatch.free()
	return following, ok
}

// endUnwritten ends a run whose lease is lost: there is nothing to write.
func (n *node) endUnwritten(x *execution) (following store.Claimed, ok, mine bool) {
	if _, first := x.run.finish(); !first {
		return store.Claimed{}, false, false
	}
	following, ok = n.goOn(x)
	n.engine.news.EndedHere([]store.ID{x.run.claimed.Job.ID}) // somebody else has ended it, perhaps
	return following, ok, true
}
