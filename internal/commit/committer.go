package commit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/portion"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// Committer is the group commit: all writes go through it. It adds no delay: a lone write is
// committed at once; writes that arrive during a commit share the next one, with the next writes of
// the callers that this one has answered.
//
// There is one worker, because large batches are cheap, and two concurrent commits that end runs of
// one claim would block each other. On a store with concurrent writers a second worker has the
// enqueues that may conflict with another one of the same key or id: such a statement blocks until
// the other transaction ends, and no other write may block with it. Ops that are blocked by a
// caller's transaction are put aside.
type Committer struct {
	Parts

	main, contested *backlog
	aside           aside
	asidePortion    *portion.Portion // of the ops put aside
	calls           sync.Pool        // reused, except those whose caller has left: they may still be answered

	stop    chan struct{} // closed: flush the backlog, then end
	force   context.Context
	abandon context.CancelFunc
	working atomic.Int64 // workers that have not ended
	workers sync.WaitGroup

	elsewhere atomic.Pointer[[]func([]*store.Enqueue) *Starting] // see ReserveElsewhere
	unencoded atomic.Pointer[store.EncodeError]                  // why the last batch was not even sent; nil: it was
}

// Parts are the dependencies of a committer.
type Parts struct {
	Store    store.Store
	Patience time.Duration // how long an enqueue is retried while the database does not answer
	Guard    *supervise.Guard
	Outage   *logs.Outage
	// Before is called before each attempt to commit a batch, and After with each committed batch
	// and what Before has returned.
	Before func() (mark uint64)
	After  func(b *store.Batch, mark uint64)
	// Reserve reserves slots of a node of this process for jobs that may start in the commit that
	// enqueues them; it returns nil if there is no room.
	Reserve func([]*store.Enqueue) *Starting
	// Fatal is called with an error after which nothing can be stored any more.
	Fatal func(error)
}

// New starts a committer, which works until Close.
func New(p Parts) *Committer {
	c := &Committer{Parts: p, stop: make(chan struct{})}
	c.force, c.abandon = context.WithCancel(context.Background()) //nolint:forbidigo // the root of the committer's own life
	c.aside.wake = make(chan struct{}, 1)
	c.asidePortion = portion.New(c.atOnce(), portion.SlowBatch)
	start := func() *backlog {
		l := newBacklog()
		c.working.Add(1)
		c.workers.Go(func() { c.work(l) })
		return l
	}
	c.main = start()
	c.contested = c.main
	if p.Store.Traits().Concurrent {
		c.contested = start()
	}
	c.workers.Go(c.superviseAside)
	return c
}

// Close commits the backlog and ends. If ctx ends first, the rest is abandoned.
func (c *Committer) Close(ctx context.Context) {
	close(c.stop)
	unhook := context.AfterFunc(ctx, c.abandon)
	c.workers.Wait()
	unhook()
	c.abandon()
}

// Enqueue commits enqueues and returns when they are durable. If ctx ends first, or the database is
// away for too long, the error is ErrUnavailable: they may have happened; retrying them with the
// same ids is idempotent.
func (c *Committer) Enqueue(ctx context.Context, enqueues []*store.Enqueue) error {
	b := c.main
	if slices.ContainsFunc(enqueues, (*store.Enqueue).MayWait) {
		b = c.contested
	}
	return c.wait(ctx, b, op{Unit: store.Unit{Enqueues: enqueues}, apart: true})
}

// Checkpoint commits a run's checkpoint, with jobs that are enqueued if it is written, and returns
// when it is durable.
func (c *Committer) Checkpoint(ctx context.Context, w *store.CheckpointWrite, jobs []*store.Enqueue) error {
	if err := c.wait(ctx, c.main, op{Unit: store.Unit{Checkpoint: w, Enqueues: jobs}}); err != nil {
		return err
	}
	if w.Err != nil {
		return w.Err
	}
	for _, q := range jobs {
		if q.Err != nil {
			return q.Err
		}
	}
	return nil
}

// Note commits a run's checkpoint asynchronously, and calls done, which must not block.
func (c *Committer) Note(w *store.CheckpointWrite, done func()) {
	c.main.put(&op{Unit: store.Unit{Checkpoint: w}, done: func(error) { done() }})
}

// Call lets a caller wait for one op after the other with one allocation.
type Call struct {
	op     op
	answer chan error
}

// NewCall makes a call that can be reused for one op after the other.
func NewCall() *Call {
	w := &Call{answer: make(chan error, 1)}
	w.op.done = func(err error) { w.answer <- err }
	return w
}

// Lifetime is the lifetime of the caller of a write.
type Lifetime interface {
	Over() <-chan struct{} // closed when it has ended
	Ended() error          // why it has ended; nil while it lasts
}

// Append commits journal entries of a run and returns when they are durable. It retries until the
// store answers, l ends or the committer is abandoned. After the end of l, w must not be used
// again.
func (c *Committer) Append(l Lifetime, a *store.Append, w *Call) error {
	w.op = op{Unit: store.Unit{Append: a}, done: w.op.done}
	c.main.put(&w.op)
	select {
	case err := <-w.answer:
		if err != nil {
			return errors.Join(err, a.Err)
		}
		return a.Err
	case <-l.Over():
		return l.Ended()
	}
}

// Remember commits journal entries of a run before its end, and returns when they are durable, even
// if the run's lifetime has ended.
func (c *Committer) Remember(a *store.Append) error {
	w := NewCall()
	w.op.Append = a
	c.main.put(&w.op)
	if err := <-w.answer; err != nil {
		return errors.Join(err, a.Err)
	}
	return a.Err
}

// Send commits messages and returns when they are durable.
func (c *Committer) Send(ctx context.Context, sends []*store.Send) error {
	return c.wait(ctx, c.main, op{Unit: store.Unit{Sends: sends}, apart: true})
}

// Finish commits the outcome of a run, with its last checkpoint and journal entries if it has any,
// and calls done. It retries until the store answers or the committer is abandoned. aside, unless
// it is nil, is called if a caller's transaction blocks the outcome.
func (c *Committer) Finish(o *store.Outcome, last *store.CheckpointWrite, remembered *store.Append, aside func(), done func(error)) {
	c.main.put(&op{Unit: store.Unit{Checkpoint: last, Append: remembered, Outcome: o}, aside: aside, done: done})
}

// Settle commits what a run that is not of this process has written, and calls done. Its outcome is
// not tried any more once ctx has ended, or, without an answer of the store, after Patience.
func (c *Committer) Settle(ctx context.Context, u *store.Unit, done func(error)) {
	c.main.put(&op{Unit: *u, ctx: ctx, done: done})
}

// Fire commits what was decided about a schedule, and calls done with what refuses it, or with why
// it is unknown whether it was committed. Like an enqueue it is tried until ctx ends, or for
// Patience.
func (c *Committer) Fire(ctx context.Context, u *store.Unit, done func(error)) {
	c.contested.put(&op{Unit: *u, ctx: ctx, done: func(err error) {
		if err == nil {
			err = u.Err()
		}
		done(err)
	}})
}

// Ask commits a request with its effect, and returns when that is durable, or refused as u.Err
// says. Like an enqueue it is tried until ctx ends, or for Patience. Another process may be writing
// the same request, for which a store with concurrent writers waits.
func (c *Committer) Ask(ctx context.Context, u *store.Unit) error {
	return c.wait(ctx, c.contested, op{Unit: *u})
}

// Ending adds the jobs whose outcomes are not committed yet.
func (c *Committer) Ending(jobs map[store.ID]bool) {
	c.main.ending(jobs)
	c.aside.ending(jobs)
}

func (c *Committer) wait(ctx context.Context, b *backlog, o op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w, ok := c.calls.Get().(*Call)
	if !ok {
		w = NewCall()
	}
	o.ctx, o.done = ctx, w.op.done
	w.op = o
	b.put(&w.op)
	select {
	case err := <-w.answer:
		w.op = op{done: o.done} // keeps nothing alive
		c.calls.Put(w)
		return err
	case <-ctx.Done():
		return c.gaveUp(ctx, "gave up waiting for the commit")
	}
}

func (c *Committer) work(l *backlog) {
	defer func() {
		c.working.Add(-1)
		supervise.Signal(c.aside.wake)
	}()
	w := &worker{backlog: l, limit: c.atOnce(), portion: portion.New(c.atOnce(), portion.SlowBatch)}
	c.Guard.Restart("committer", func() { c.serve(w) }, func(wait time.Duration) bool {
		// These ops may have caused the panic, and may have been committed.
		c.abandonOps(w)
		supervise.Sleep(c.force, wait)
		return true // the backlog is answered even after the end
	})
}

// abandonOps gives up the ops that a worker had taken when it panicked. The heartbeat finds the
// leases that this leaves behind.
func (c *Committer) abandonOps(w *worker) {
	ops, starting := w.ops, w.starting
	w.ops, w.starting = nil, nil
	w.keep(nil)
	c.Guard.Try("committer", starting.cancel)
	for _, o := range ops {
		if o != nil {
			c.answer(o, supervise.ErrPanicked)
		}
	}
}

// serve commits the backlog until the committer stops.
func (c *Committer) serve(w *worker) {
	for {
		size := 0
		for _, o := range w.ops {
			size += o.size()
		}
		if len(w.ops) == 0 || size < w.limit {
			w.ops = append(w.ops, w.take(w.limit-size)...)
		}
		if len(w.ops) > 0 {
			if c.commitSome(w) {
				continue
			}
			supervise.Sleep(c.force, store.Backoff{Base: 10 * time.Millisecond, Cap: time.Second, Jitter: 0.5}.Delay(w.try))
			continue
		}
		select {
		case <-w.wake:
		case <-c.stop:
			if w.end() {
				return
			}
		}
	}
}

// ReserveElsewhere lets reserve be asked for room where Parts.Reserve has none: that of nodes which
// are not of this process, and whose calls it makes for them. What it reserves for is claimed as by
// a node of this process.
func (c *Committer) ReserveElsewhere(reserve func([]*store.Enqueue) *Starting) {
	for {
		before := c.elsewhere.Load()
		all := []func([]*store.Enqueue) *Starting{reserve}
		if before != nil {
			all = append(all, *before...)
		}
		if c.elsewhere.CompareAndSwap(before, &all) {
			return
		}
	}
}

// reserve asks the nodes of this process, and then others.
func (c *Committer) reserve(enqueues []*store.Enqueue) *Starting {
	starting := c.Reserve(enqueues)
	if others := c.elsewhere.Load(); others != nil {
		for i := 0; i < len(*others) && starting == nil; i++ {
			starting = (*others)[i](enqueues)
		}
	}
	return starting
}

// tryOps commits ops as one batch. It returns those to be retried, and unsettled if the jobs of
// some of these may have started. Only the main worker starts jobs, because that locks the row of
// the node.
func (c *Committer) tryOps(w *worker, ops []*op, starting *Starting) (again []*op, unsettled *Starting) {
	w.portion.Err = nil
	ops = c.drop(ops, nil)
	if len(ops) == 0 {
		return nil, nil
	}
	batch := assemble(ops)
	if starting == nil && w.backlog == c.main && mayStart(w.portion, ops, batch) {
		starting = c.reserve(startable(batch.Enqueues))
	}
	if starting != nil {
		batch.Start = starting.Start
		w.starting = starting // if this panics
	}
	again = c.flush(w.portion, ops, batch, starting)
	if len(again) > 0 && starting != nil && !starting.settled {
		return again, starting
	}
	return again, nil
}

// flush commits a batch of ops. What the store refuses is taken out and answered; if it does not
// say what it refuses, the ops are committed one by one. It returns those to be retried; ops that
// are blocked by a caller's transaction are put aside.
func (c *Committer) flush(p *portion.Portion, ops []*op, batch *store.Batch, starting *Starting) []*op {
	began, mark := time.Now(), c.Before() //nolint:forbidigo // a duration, not the time of day
	err := c.apply(batch)
	took := time.Since(began) //nolint:forbidigo // as above
	if refused, ok := errors.AsType[*store.RefusedError](err); ok {
		c.Outage.Succeeded(logs.CallCommit)
		tried(p, ops, took, nil)
		return c.flushRest(p, ops, starting, refused)
	}
	tried(p, ops, took, err)
	switch {
	case err == nil:
		c.Outage.Succeeded(logs.CallCommit)
		for _, o := range ops {
			o.markCommitted()
		}
		c.Guard.Try("wake-ups", func() { c.After(batch, mark) })
		c.Guard.Try("starts", starting.settle)
		c.answerAll(ops)
	case c.force.Err() != nil:
		starting.cancel()
		for _, o := range ops {
			c.answer(o, fmt.Errorf("%w: stopped before the commit: %w", store.ErrClosed, err))
		}
	case Transient(err):
		c.Outage.Failed(logs.CallCommit, err)
		for _, o := range ops {
			o.markRepeated()
		}
		starting.failed(err)
		return c.drop(ops, err)
	case len(ops) > 1:
		starting.cancel()
		if errors.Is(err, supervise.ErrPanicked) {
			for _, o := range ops {
				o.markRepeated()
			}
		}
		return c.flushEach(p, ops)
	default:
		starting.cancel()
		c.answer(ops[0], err)
	}
	return nil
}

// flushEach commits ops one by one; nil ones are left out. It returns those to be retried.
func (c *Committer) flushEach(p *portion.Portion, ops []*op) (again []*op) {
	for i, o := range ops {
		if o == nil {
			continue
		}
		one := ops[i : i+1 : i+1]
		left := c.flush(p, one, assemble(one), nil)
		if len(left) == 0 {
			ops[i] = nil // it is owned elsewhere now
		}
		again = append(again, left...)
	}
	return again
}

// flushRest takes the refused units out of ops, of which nothing was written, and commits the rest.
// What a conflict has refused is committed one by one after that. It returns the ops to be retried.
func (c *Committer) flushRest(p *portion.Portion, ops []*op, starting *Starting, refused *store.RefusedError) []*op {
	rest, alone, changed := c.takeRefused(ops)
	var again []*op
	switch {
	case len(rest) == 0:
		starting.cancel()
	case !changed: // the store does not say what it refuses
		starting.cancel()
		for _, o := range rest {
			c.answer(o, refused)
		}
		return nil
	default:
		batch := assemble(rest)
		if starting != nil {
			batch.Start = starting.Start
		}
		again = c.flush(p, rest, batch, starting)
		if len(again) > 0 {
			return append(again, alone...)
		}
	}
	clear(ops) // the rest is owned elsewhere now
	copy(ops, alone)
	return c.flushEach(p, ops[:len(alone)])
}

// takeRefused answers the refused units among ops, or puts them aside. alone are those to be
// committed by themselves, because another one may have refused them. changed reports whether any
// op was refused.
func (c *Committer) takeRefused(ops []*op) (rest, alone []*op, changed bool) {
	var busy []*op
	for i, o := range ops {
		size := o.size()
		err := o.refused() // or it has dropped the checkpoint
		changed = changed || err != nil || o.size() < size
		switch {
		case err == nil:
			rest = append(rest, o)
			continue
		case len(ops) > 1 && store.Inconclusive(err):
			alone = append(alone, o)
			continue
		}
		ops[i] = nil // it is owned elsewhere now
		if isBusy(err) {
			busy = append(busy, o)
			continue
		}
		o.fail(err)
		c.answer(o, nil)
	}
	c.aside.put(busy, time.Now()) //nolint:forbidigo // a delay, not the time of day
	return rest, alone, changed
}

// apply commits a batch. A panic of the store is returned as an error, so that the ops are tried
// one by one.
func (c *Committer) apply(batch *store.Batch) (err error) {
	ctx, cancel := context.WithTimeout(c.force, store.CallTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			c.Guard.Report("store", p, false)
			err = supervise.ErrPanicked
		}
	}()
	call := c.Outage.Began()
	defer c.Outage.Ended(call)
	err = c.Store.Apply(ctx, batch)
	if encode, is := errors.AsType[*store.EncodeError](err); is {
		c.unencoded.Store(encode)
	} else if c.unencoded.Load() != nil {
		c.unencoded.Store(nil)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, store.ErrUnavailable):
		err = fmt.Errorf("%w: no answer within %v: %w", store.ErrUnavailable, store.CallTimeout, err)
	case errors.Is(err, store.ErrDatabaseGone):
		c.Fatal(err)
	}
	return err
}

// answerAll answers the ops of a committed batch, and puts aside those that are blocked by a
// caller's transaction.
func (c *Committer) answerAll(ops []*op) {
	var busy []*op
	for _, o := range ops {
		if o.keepBusy() {
			busy = append(busy, o)
		} else {
			c.answer(o, nil)
		}
	}
	c.aside.put(busy, time.Now()) //nolint:forbidigo // a delay, not the time of day
}

// answer reports the result of an op to its caller.
func (c *Committer) answer(o *op, err error) {
	if o.answered {
		return
	}
	o.answered = true
	if o.wait > 0 {
		c.aside.forget(o)
	}
	c.Guard.Try("answers", func() { o.done(err) })
}

// drop answers and removes the ops that are not worth a retry. An op that may have started a job is
// answered and stays, so that the node learns of the job.
func (c *Committer) drop(ops []*op, err error) []*op {
	for _, o := range ops {
		o.tried = o.tried || err != nil
	}
	return c.sift(ops, err)
}

// sift is drop for ops that were not part of the failed batch.
func (c *Committer) sift(ops []*op, err error) []*op {
	now := c.Store.Now()
	kept := ops[:0]
	for i, o := range ops {
		if o.since.IsZero() {
			o.since = now
		}
		why := c.giveUpReason(o, err, now)
		ops[i] = nil // the caller may reuse it once it is answered
		switch {
		case why == nil:
			kept = append(kept, o)
			continue
		case o.tried && slices.ContainsFunc(o.Enqueues, func(q *store.Enqueue) bool { return q.Start }):
			stays := *o // a copy: its caller may reuse the op
			stays.ctx, stays.done = nil, func(error) {}
			kept = append(kept, &stays)
		}
		c.answer(o, why)
	}
	return kept
}

// giveUpReason reports why an op is not tried (again), or nil: its caller has left or, after an
// error, it is an enqueue whose Patience is over, or one that a full or read-only database refuses.
// Outcomes are always retried.
func (c *Committer) giveUpReason(o *op, err error, now time.Time) error {
	switch {
	case o.ctx == nil:
		return nil
	case o.ctx.Err() != nil && o.tried:
		return c.gaveUp(o.ctx, "gave up after a try whose answer was lost")
	case o.ctx.Err() != nil:
		return o.ctx.Err()
	case err != nil && (now.Sub(o.since) >= c.Patience || !errors.Is(err, store.ErrUnavailable)):
		return err
	}
	return nil
}

// gaveUp is the error of a caller that has left: it names the codec if that is why nothing is
// written at this moment, and not the database.
func (c *Committer) gaveUp(ctx context.Context, how string) error {
	if e := c.unencoded.Load(); e != nil {
		return fmt.Errorf("%w; %s: %w", e, how, context.Cause(ctx))
	}
	return fmt.Errorf("%w: %s: %w", store.ErrUnavailable, how, context.Cause(ctx))
}

// Transient reports whether the same call may succeed later: the database is away, full, or
// read-only for now, for example during a failover.
func Transient(err error) bool {
	return (store.IsRetryable(err) || errors.Is(err, store.ErrReadOnly)) && !errors.Is(err, supervise.ErrPanicked)
}
