package engine

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/runlog"
	"github.com/holdfastdev/holdfast/internal/slots"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// ending is an outcome on its way to the database, and then to the log. The node counts it in
// outcomes until it is stored or given up, and in pending as long as it may hold up a slot.
type ending struct {
	node    *node
	outcome *store.Outcome
	job     logs.About
	took    time.Duration // how long the run took, or unread
	mayGoOn chan struct{} // closed when the slot that waits for it may go on; nil: none waits
	aside   bool          // a caller's transaction blocks it: its slot was freed, only the committer knows it
	settled atomic.Bool   // it no longer holds up a slot
}

func maxPending(size int) int { return max(4*size, 2*slots.MaxPrefetch) }

// finish passes an outcome to the committer, after what the run has logged was written. It returns
// a channel that the slot must wait for, or nil.
func (n *node) finish(
	o *store.Outcome, job logs.About, took time.Duration, last *store.CheckpointWrite, remembered *store.Append, logged *runlog.Run,
) <-chan struct{} {
	if o.State == store.Failed {
		o.Fingerprint = usercode.Fingerprint(job.Kind, o.Reason, o.Error)
	}
	e := &ending{node: n, outcome: o, job: job, took: took}
	if n.pending.Add(1) > int64(maxPending(n.cfg.Slots)) {
		e.mayGoOn = make(chan struct{})
	}
	n.outcomes.Add(1)
	n.engine.logs.End(logged, func() { n.engine.commit.Finish(o, last, remembered, e.putAside, e.done) })
	return e.mayGoOn
}

// release gives back a job that was claimed and not started. It keeps its place in the queue: that
// this node took it ahead is no reason for it to wait longer. The node does not take it again at
// once, though it is the first: it claims only what it has room for, and what its slots are
// expected to come to.
func (n *node) release(c store.Claimed) {
	o := c.Outcome(store.Available)
	o.Reason, o.KeepsPlace = store.ReasonReleased, true
	e := &ending{node: n, outcome: o, job: logs.AboutJob(&c.Job), took: unread}
	e.settled.Store(true)
	n.outcomes.Add(1)
	n.engine.commit.Finish(o, nil, nil, nil, e.done)
}

// putAside is called when a caller's transaction blocks the outcome.
func (e *ending) putAside() {
	e.aside = true
	e.node.slots.PutAside()
	e.freeSlot()
}

// done is called when the outcome is stored or given up. It logs asynchronously, because the caller
// is the committer.
func (e *ending) done(err error) {
	n := e.node
	defer n.outcomes.Done()
	if e.aside && n.slots.CameBack() {
		n.dispatch.free()
	}
	switch o := e.outcome; {
	case err != nil:
	case errors.Is(o.Err, store.ErrLeaseLost):
		n.slots.Lost(o.Lease)
		n.engine.cfg.Observer.Lost(o.Namespace, o.Queue, e.job.Kind)
	case o.Err != nil:
		n.refused(e)
	default:
		took := max(e.took, 0)
		n.facts.Ended(n.endedAt(o, took), o, e.job.Kind, took)
		n.engine.hooks.Ended(o, e.job, took)
	}
	if (e.took == unread || !n.debugs()) && !needsAttention(e.outcome, err) {
		e.freeSlot()
		return
	}
	n.lines.Pen.Put(func() {
		defer e.freeSlot()
		n.engine.guard.Try("the report of an outcome", func() { n.report(e.outcome, e.job, e.took, err) })
	})
}

// endedAt is when a run ended, without a look at the clock for each.
func (n *node) endedAt(o *store.Outcome, took time.Duration) time.Time {
	if o.StartedAt.IsZero() {
		return n.now()
	}
	return o.StartedAt.Add(took)
}

// freeSlot lets the slot that waits for the outcome go on.
func (e *ending) freeSlot() {
	if e.settled.Swap(true) {
		return
	}
	e.node.pending.Add(-1)
	if e.mayGoOn != nil {
		close(e.mayGoOn)
	}
}

// refused handles an outcome that the store will never accept: the job fails with that reason.
func (n *node) refused(e *ending) {
	o := e.outcome
	if o.State == store.Failed && o.Reason == store.ReasonTerminal {
		return // the heartbeat finds the lease that is left
	}
	n.finish(&store.Outcome{
		Lease: o.Lease, State: store.Failed, Reason: store.ReasonTerminal,
		Error:     usercode.CutError("its outcome was refused: " + o.Err.Error()),
		StartedAt: o.StartedAt, HasUnique: o.HasUnique, HasOrdering: o.HasOrdering, Answers: o.Answers, Parent: o.Parent, Durable: o.Durable,
		Namespace: o.Namespace, Queue: o.Queue, HasChildren: o.HasChildren,
	}, e.job, e.took, nil, nil, nil)
}
