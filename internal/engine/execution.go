package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/outcome"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/stopwatch"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// work runs a job in a slot, and then the jobs that waited for the slot. The goroutine owns the
// slot and one count of node.handlers. If a run is given up as stuck, both pass to the goroutine
// that gave it up. Without a job the goroutine parks in rest.
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

// maxResting bounds the number of idle goroutines.
const maxResting = 1000

// rest returns the count of node.handlers and waits for a job, which brings a new count. Goroutines
// are reused because their stacks have grown already.
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
	case c = <-n.wakeIdle:
		ok = true
	case <-n.endIdle:
	}
	n.resting.Add(-1)
	return c, ok
}

// run starts a job, in an idle goroutine or in a new one.
func (n *node) run(c store.Claimed) {
	n.handlers.Add(1)
	select {
	case n.wakeIdle <- c:
	default:
		go n.work(c)
	}
}

// runAll starts jobs that have come together.
func (n *node) runAll(jobs []store.Claimed) {
	n.expect(jobs)
	for _, c := range jobs {
		n.run(c)
	}
}

// expect tells those who gather runs of what is about to begin.
func (n *node) expect(jobs []store.Claimed) {
	if !n.gathers {
		return
	}
	for i := range jobs {
		if h := n.runner.handlers[jobs[i].Job.Kind]; h != nil && h.Gather != nil {
			h.Gather.Expect(jobs[i].Lease)
		}
	}
}

// hurry makes those wait no longer who gather runs, or ends that.
func (n *node) hurry(on bool) {
	for _, h := range n.runner.handlers {
		if h.Gather != nil {
			h.Gather.Hurry(on)
		}
	}
}

// execute runs one job to its end. mine is false if the run was given up meanwhile.
//
// A panic outside the handler ends this run only: its slot and its count go on.
func (n *node) execute(c store.Claimed, w *worker) (following store.Claimed, ok, mine bool) {
	x := n.executionOf(c, w)
	defer x.run.replay.Stop()
	returned := false
	defer func() {
		if !returned {
			n.settleGone(x, recover())
		}
	}()
	o := n.runJob(x)
	if o != nil && o.Rest != nil {
		n.letRest(&x.run.claimed.Job, o)
	}
	returned = true
	if o == nil {
		return n.endUnwritten(x)
	}
	return n.settleFirst(x, o)
}

func (n *node) executionOf(c store.Claimed, w *worker) *execution {
	run := &Run{claimed: c, node: n}
	run.replay.Init(run, &run.claimed)
	if c.Checkpoint != nil {
		run.checkpoint = new(*c.Checkpoint)
	}
	x := &execution{run: run, handler: n.runner.handlers[c.Job.Kind], worker: w}
	run.execution = x
	return x
}

// runJob runs the job and returns its outcome; a job that must not run gets its outcome at once.
// Nil means that the lease is lost and nothing can be written.
func (n *node) runJob(x *execution) *store.Outcome {
	c, run := x.run.claimed, x.run
	if o, settled := n.mayNotRun(x.handler, c); settled {
		return o
	}
	// The context comes first: from begin on other goroutines may cancel the run. The node's id is
	// compared after that: a death before begin was not told to this run.
	ctx := n.startContext(x)
	if n.slots.Begin(x.run.claimed.Job.ID, x) {
		supervise.Signal(n.beatNow)
	}
	if n.engine.news.IsWatched() {
		n.engine.announce(n.engine.news.WentOn(c.Job.ID)...)
	}
	n.facts.Started(&run.claimed.Job, run.started, waited(&run.claimed, run.started))
	n.logStart(run)
	n.engine.hooks.Started(&run.claimed, run.started, waited(&run.claimed, run.started))
	if n.id.Load() != c.Lease.Node {
		run.replay.Cancel(store.ErrLeaseLost) // the node was declared dead while the job waited for its slot
	}
	return run.replay.Attempt(ctx)
}

// settleGone settles a run whose goroutine ends here, by runtime.Goexit or by a panic of this
// package; its slot goes on. Panics of the handler do not get here.
func (n *node) settleGone(x *execution, p any) {
	var o *store.Outcome // if nil, the heartbeat finds the lease
	n.engine.guard.Try("the end of a run", func() {
		if p == nil {
			o = x.run.replay.AfterGoexit()
			return
		}
		n.engine.guard.Report("the end of a run", p, false)
		o = x.panicked(p)
	})
	go n.settleElsewhere(x, o)
}

// startContext starts the time of a run, and returns its context. That ends with a cause: timeout,
// deadline, cancel, lost lease or shutdown.
func (n *node) startContext(x *execution) context.Context {
	r := x.run
	r.started, r.began = n.store.Now(), stopwatch.Begin()
	how, _ := n.policyOf(&r.claimed.Job).Of(&r.claimed.Job)
	ctx := r.replay.Start(r.started, how.Timeout)
	if how.Heartbeat > 0 {
		r.replay.ExpectBeats(how.Heartbeat)
	}
	return ctx
}

// settleFirst settles the run unless another goroutine has done so.
func (n *node) settleFirst(x *execution, o *store.Outcome) (following store.Claimed, ok, mine bool) {
	last, first := x.run.stopWriting()
	if !first {
		return store.Claimed{}, false, false
	}
	if o.State == store.Completed {
		last = nil // no attempt continues from it
	}
	following, ok = n.commitAndNext(x, o, last)
	return following, ok, true
}

// settleElsewhere settles a run from a goroutine that did not run it; the one that did owns nothing
// from then on. It reports whether it was the first to settle. A nil outcome means that nothing can
// be written.
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

// commitAndNext passes the outcome to the committer and the slot to the next job. The slot does not
// wait for the commit unless too many outcomes are pending: then the database is the bottleneck. A
// panic here does not stop the slot; the heartbeat finds a lease that is left behind.
func (n *node) commitAndNext(x *execution, o *store.Outcome, last *store.CheckpointWrite) (store.Claimed, bool) {
	var durable <-chan struct{}
	n.engine.guard.Try("the end of a run", func() { durable = n.submit(x, o, last) })
	if durable != nil {
		<-durable
	}
	return n.nextJob(x)
}

// submit completes an outcome and passes it to the committer. It returns a channel to wait for, or
// nil.
func (n *node) submit(x *execution, o *store.Outcome, last *store.CheckpointWrite) <-chan struct{} {
	c := x.run.claimed
	o.Carry(&c)
	x.run.holdIfLacking(o)
	o.StartedAt, o.CancelSeen = x.run.started, x.run.replay.SawCancel()
	var remembered *store.Append
	if a, remembers := x.run.replay.FinishJournal(o); remembers {
		remembered = a
		if x.handler != nil {
			o.Version = x.handler.bindTo()
		}
	}
	o.Error, o.Trace = usercode.ValidText(o.Error), usercode.ValidText(o.Trace)
	return n.finish(o, x.run.about(), x.run.began.Took(), last, remembered, x.run.hasLogged())
}

// now is the time of the store's clock, or of this machine if that panics: what asks must go on.
func (n *node) now() time.Time {
	var now time.Time
	n.engine.guard.Try("the end of a run", func() { now = n.store.Now() })
	if now.IsZero() {
		now = time.Now() //nolint:forbidigo // as said above
	}
	return now
}

// nextJob removes the run from the slots and returns the next job of its slot.
func (n *node) nextJob(x *execution) (following store.Claimed, ok bool) {
	following, ok = n.slots.End(&x.run.claimed.Job, x, n.now())
	if ok && n.gathers {
		n.expect([]store.Claimed{following})
	}
	if x.handler != nil && x.handler.Gather != nil {
		x.handler.Gather.Left(x.run.claimed.Lease)
	}
	n.dispatch.free()
	return following, ok
}

// endUnwritten ends a run whose lease is lost: there is nothing to write.
func (n *node) endUnwritten(x *execution) (following store.Claimed, ok, mine bool) {
	if _, first := x.run.stopWriting(); !first {
		return store.Claimed{}, false, false
	}
	n.slots.Lost(x.run.claimed.Lease)
	following, ok = n.nextJob(x)
	n.engine.news.EndedHere([]store.ID{x.run.claimed.Job.ID}) // another process may have ended it
	return following, ok, true
}

// abandonLater gives the handler StuckAfter from the end of its context to return. A handler that
// does not return is logged with its stack, its job gets the outcome that the end of the context
// calls for, and its slot goes to the next job. The goroutine cannot be killed and stays; its
// result is dropped.
func (n *node) abandonLater(x *execution, cause error) {
	time.AfterFunc(n.cfg.StuckAfter, func() {
		defer x.run.Catch("giving up a stuck handler")
		x.run.mu.Lock()
		over := x.run.over
		x.run.mu.Unlock()
		if over || x.run.replay.IsCompensating() {
			return
		}
		n.abandon(x, cause)
	})
}

func (n *node) abandon(x *execution, cause error) {
	stack := stackOf(x.worker)
	text := fmt.Sprintf("the handler ignored the end of its context (%v) for %v and was left behind", cause, n.cfg.StuckAfter)
	var o *store.Outcome
	switch {
	case errors.Is(cause, usercode.ErrCancelled):
		o = &store.Outcome{State: store.Cancelled, Reason: store.ReasonCancelled, Error: usercode.CancelReason(cause)}
	case errors.Is(cause, usercode.ErrShutdown):
		o = outcome.Released()
		o.Error = text
	case errors.Is(cause, usercode.ErrTimeout):
		o = x.run.replay.TimedOut(text, usercode.CutTrace(stack))
	case errors.Is(cause, replay.ErrClosing):
		o = x.run.replay.Closing(text, usercode.CutTrace(stack))
	}
	if n.settleElsewhere(x, o) {
		n.lines.Say(slog.LevelError, x.run.about(), "handler is stuck: it ignores its context; its job is taken from it, its goroutine stays",
			slog.String(logs.KeyCause, cause.Error()), slog.String(logs.KeyStack, stack))
	}
}

// Job is the job of the run.
func (x *execution) Job() *store.Job { return &x.run.claimed.Job }

// Lease is the lease under which the run writes. This method and those below are what the slots ask
// of a run: see slots.Run.
func (x *execution) Lease() store.Lease { return x.run.claimed.Lease }

// Started is when the run began, by the clock of the database.
func (x *execution) Started() time.Time { return x.run.started }

// HasEnded reports whether the handler's context has ended.
func (x *execution) HasEnded() bool { return x.run.replay.HasEnded() }

// Cancel ends the run for the given cause.
func (x *execution) Cancel(cause error) { x.run.replay.Cancel(cause) }

// Pause makes a durable run stop at its next operation.
func (x *execution) Pause() { x.run.replay.Pause() }
