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

// Committer is through which all writes go (group commit). It adds no delay: a lone write is committed at once, and whatever
// arrives meanwhile waits for the next commit and shares it, with what those want next whom this one has answered.
//
// There is one line: large batches are cheap ones, and two commits at a time that end runs of one claim would wait for each other. A
// store with several writers has a second one, of enqueues that may meet another one of the same key or id: such a statement waits for
// the other, if only for a moment, and nothing else may wait with it. What a caller's transaction is in the way of is put aside.
type Committer struct {
	Parts

	main, contested *lane
	aside           aside
	beside          *portion.Portion // of what was put aside
	calls           sync.Pool        // that are used again, which those are not whose caller has left: they may still be answered

	stop    chan struct{} // closed: flush what waits, then end
	force   context.Context
	abandon context.CancelFunc
	lines   atomic.Int64 // that work
	workers sync.WaitGroup
}

// Parts are what a committer works with.
type Parts struct {
	Store    store.Store
	Patience time.Duration // how long an enqueue is repeated while the database does not answer
	Guard    *supervise.Guard
	Outage   *logs.Outage
	// After is told of each committed batch.
	After func(*store.Batch)
	// Reserve takes slots of the node of this process for jobs that may run at once; it returns nil if there are none.
	Reserve func([]*store.Enqueue) *Starting
	// Fatal is told of an error after which nothing can be stored any more.
	Fatal func(error)
}

// New starts a committer, which works until Close.
func New(p Parts) *Committer {
	c := &Committer{Parts: p, stop: make(chan struct{})}
	c.force, c.abandon = context.WithCancel(context.Background()) //nolint:forbidigo // the root of the committer's own life
	c.aside.wake = make(chan struct{}, 1)
	c.beside = portion.New(c.atOnce(), portion.SlowBatch)
	start := func() *lane {
		l := newLane()
		c.lines.Add(1)
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

// Close commits what waits and ends. When ctx ends first, what is left is given up.
func (c *Committer) Close(ctx context.Context) {
	close(c.stop)
	unhook := context.AfterFunc(ctx, c.abandon)
	c.workers.Wait()
	unhook()
	c.abandon()
}

// Enqueue commits enqueues and returns when they are durable. When ctx ends first, or the database stays away too long, the
// error is an ErrUnavailable: they may have happened, and may be repeated with the same ids.
func (c *Committer) Enqueue(ctx context.Context, enqueues []*store.Enqueue) error {
	line := c.main
	if slices.ContainsFunc(enqueues, func(e *store.Enqueue) bool { return e.Job.UniqueKey != nil || e.KnownID }) {
		line = c.contested
	}
	return c.wait(ctx, line, op{enqueues: enqueues})
}

// Checkpoint commits a run's checkpoint and returns when it is durable.
func (c *Committer) Checkpoint(ctx context.Context, w *store.CheckpointWrite) error {
	if err := c.wait(ctx, c.main, op{checkpoint: w}); err != nil {
		return err
	}
	return w.Err
}

// Note commits a run's checkpoint without anybody waiting, and calls done, which must not block.
func (c *Committer) Note(w *store.CheckpointWrite, done func()) {
	c.main.put(&op{checkpoint: w, done: func(error) { done() }})
}

// Call is how a caller waits for ops, one after the other: what each of them needs is allocated once.
type Call struct {
	op     op
	answer chan error
}

// NewCall makes a call, which may be used for one op after the other.
func NewCall() *Call {
	w := &Call{answer: make(chan error, 1)}
	w.op.done = func(err error) { w.answer <- err }
	return w
}

// Lifetime is that of who waits for a write.
type Lifetime interface {
	Over() <-chan struct{} // closed when it has ended
	Ended() error          // why; nil while it lasts
}

// Append commits what a run remembers and returns when it is durable. It is repeated until the store answers, the run's life ends or the
// committer is abandoned. After the end of that life w is not to be used again.
func (c *Committer) Append(l Lifetime, a *store.Append, w *Call) error {
	w.op = op{remembered: a, done: w.op.done}
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

// Remember commits what a run remembers before its end, and returns when it is durable, however the run's life has ended.
func (c *Committer) Remember(a *store.Append) error {
	w := NewCall()
	w.op.remembered = a
	c.main.put(&w.op)
	if err := <-w.answer; err != nil {
		return errors.Join(err, a.Err)
	}
	return a.Err
}

// Send commits messages and returns when they are durable.
func (c *Committer) Send(ctx context.Context, sends []*store.Send) error {
	return c.wait(ctx, c.main, op{sends: sends})
}

// Finish commits the outcome of a run, with its last checkpoint and what it remembers if there is such, and calls done.
// It is repeated until the store answers or the committer is abandoned. aside, unless it is nil, is called if the outcome has to wait for
// a caller's transaction.
func (c *Committer) Finish(o *store.Outcome, last *store.CheckpointWrite, remembered *store.Append, aside func(), done func(error)) {
	c.main.put(&op{outcome: o, checkpoint: last, remembered: remembered, aside: aside, done: done})
}

// Ending adds the jobs whose outcomes are on their way.
func (c *Committer) Ending(jobs map[store.ID]bool) {
	c.main.ending(jobs)
	c.aside.ending(jobs)
}

func (c *Committer) wait(ctx context.Context, line *lane, o op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w, ok := c.calls.Get().(*Call)
	if !ok {
		w = NewCall()
	}
	o.ctx, o.done = ctx, w.op.done
	w.op = o
	line.put(&w.op)
	select {
	case err := <-w.answer:
		w.op = op{done: o.done} // which keeps nothing alive
		c.calls.Put(w)
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: gave up waiting for the commit: %w", store.ErrUnavailable, context.Cause(ctx))
	}
}

func (c *Committer) work(l *lane) {
	defer func() {
		c.lines.Add(-1)
		supervise.Signal(c.aside.wake)
	}()
	w := &line{lane: l, limit: c.atOnce(), portion: portion.New(c.atOnce(), portion.SlowBatch)}
	c.Guard.Restart("committer", func() { c.serve(w) }, func(wait time.Duration) bool {
		// Perhaps it was these, and perhaps they have been committed: each on its own now.
		c.abandonOps(w)
		supervise.Sleep(c.force, wait)
		return true // what waits is to be answered even after the end
	})
}

// abandonOps gives up what a line had in hand when it panicked. Leases that this leaves behind are found by the beat.
func (c *Committer) abandonOps(w *line) {
	ops, begun := w.ops, w.begun
	w.ops, w.begun = nil, nil
	w.keep(nil)
	c.Guard.Try("committer", begun.cancel)
	for _, o := range ops {
		if o != nil {
			c.answer(o, supervise.ErrPanicked)
		}
	}
}

// serve commits what is put into a lane until the committer stops.
func (c *Committer) serve(w *line) {
	for {
		size := 0
		for _, o := range w.ops {
			size += o.size()
		}
		if len(w.ops) == 0 || size < w.limit {
			w.ops = append(w.ops, w.take(w.limit-size)...)
		}
		if len(w.ops) > 0 {
			if c.step(w) {
				continue
			}
			supervise.Sleep(c.force, store.Backoff{Base: 10 * time.Millisecond, Cap: time.Second, Jitter: 0.5}.Delay(w.try))
			continue
		}
		select {
		case <-w.wake:
		case <-c.stop:
			if w.length() == 0 {
				return
			}
		}
	}
}

// tryOps commits the ops as one batch. It returns those that are to be repeated, and what of them may run already. Only on the main line
// jobs run as they are enqueued: the node's row is locked meanwhile.
func (c *Committer) tryOps(w *line, ops []*op, begun *Starting) (again []*op, still *Starting) {
	w.portion.Err = nil
	if ops = c.drop(ops, nil); len(ops) == 0 {
		return nil, nil
	}
	batch := assemble(ops)
	if begun == nil && w.lane == c.main && mayStart(w.portion, ops, batch) {
		begun = c.Reserve(batch.Enqueues)
	}
	if begun != nil {
		batch.Start = begun.Start
	}
	again = c.flush(w.portion, ops, batch, begun)
	if len(again) > 0 && begun != nil && !begun.settled {
		return again, begun
	}
	return again, nil
}

// flush commits a batch of ops, and one by one if the batch as a whole is refused. It returns those that are to be repeated; what a
// caller's transaction is in the way of is put aside.
func (c *Committer) flush(p *portion.Portion, ops []*op, batch *store.Batch, begun *Starting) []*op {
	began := time.Now() //nolint:forbidigo // how long it takes, and not what time it is
	err := c.apply(batch)
	tried(p, ops, time.Since(began), err) //nolint:forbidigo // as above
	switch {
	case err == nil:
		c.Outage.Succeeded(logs.CallCommit)
		for _, o := range ops {
			o.isCommitted()
		}
		c.Guard.Try("wake-ups", func() { c.After(batch) })
		c.Guard.Try("starts", begun.settle)
		c.settle(ops)
	case c.force.Err() != nil:
		begun.cancel()
		for _, o := range ops {
			c.answer(o, fmt.Errorf("%w: stopped before the commit: %w", store.ErrClosed, err))
		}
	case Transient(err):
		c.Outage.Failed(logs.CallCommit, err)
		for _, o := range ops {
			o.repeated()
		}
		begun.failed(err)
		return c.drop(ops, err)
	case len(ops) > 1:
		begun.cancel()
		var again []*op
		for i := range ops {
			one := ops[i : i+1 : i+1]
			if errors.Is(err, supervise.ErrPanicked) {
				one[0].repeated()
			}
			left := c.flush(p, one, assemble(one), nil)
			if len(left) == 0 {
				ops[i] = nil // it has another owner now
			}
			again = append(again, left...)
		}
		return again
	default:
		begun.cancel()
		c.answer(ops[0], err)
	}
	return nil
}

// apply commits a batch. A panic of the store is an error: what it was about is then tried one by one.
func (c *Committer) apply(batch *store.Batch) (err error) {
	ctx, cancel := context.WithTimeout(c.force, store.CallTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			c.Guard.Report("store", p, false)
			err = supervise.ErrPanicked
		}
	}()
	err = c.Store.Apply(ctx, batch)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, store.ErrUnavailable):
		err = fmt.Errorf("%w: no answer within %v: %w", store.ErrUnavailable, store.CallTimeout, err)
	case errors.Is(err, store.ErrDatabaseGone):
		c.Fatal(err)
	}
	return err
}

// settle answers the ops of a batch that was committed, but those that a caller's transaction was in the way of.
func (c *Committer) settle(ops []*op) {
	var busy []*op
	for _, o := range ops {
		if o.keepBusy() {
			busy = append(busy, o)
		} else {
			c.answer(o, nil)
		}
	}
	c.aside.put(busy, time.Now()) //nolint:forbidigo // how long to wait, and not what time it is
}

// answer reports the result of an op to its caller.
func (c *Committer) answer(o *op, err error) {
	if o.told {
		return
	}
	o.told = true
	if o.wait > 0 {
		c.aside.forget(o)
	}
	c.Guard.Try("answers", func() { o.done(err) })
}

// drop answers and removes the ops that are not worth (another) try. What may run already is answered and stays, so that the node learns
// of it.
func (c *Committer) drop(ops []*op, err error) []*op {
	for _, o := range ops {
		o.tried = o.tried || err != nil
	}
	return c.sift(ops, err)
}

// sift is drop for ops that were not part of what failed.
func (c *Committer) sift(ops []*op, err error) []*op {
	now := c.Store.Now()
	kept := ops[:0]
	for i, o := range ops {
		if o.since.IsZero() {
			o.since = now
		}
		why := c.giveUpReason(o, err, now)
		ops[i] = nil // nowhere twice, nor once it is answered
		switch {
		case why == nil:
			kept = append(kept, o)
			continue
		case o.tried && slices.ContainsFunc(o.enqueues, func(q *store.Enqueue) bool { return q.Start }):
			stays := *o // who is answered may use the op again
			stays.ctx, stays.done = nil, func(error) {}
			kept = append(kept, &stays)
		}
		c.answer(o, why)
	}
	return kept
}

// giveUpReason reports why an op is not tried (again), or nil. Its caller has left; or, after an error,
// it is an enqueue whose patience is over, or which a full or read-only database refuses. Outcomes are
// always retried.
func (c *Committer) giveUpReason(o *op, err error, now time.Time) error {
	switch {
	case o.ctx == nil:
		return nil
	case o.ctx.Err() != nil && o.tried:
		return fmt.Errorf("%w: gave up after a try whose answer was lost: %w", store.ErrUnavailable, context.Cause(o.ctx))
	case o.ctx.Err() != nil:
		return o.ctx.Err()
	case err != nil && (now.Sub(o.since) >= c.Patience || !errors.Is(err, store.ErrUnavailable)):
		return err
	}
	return nil
}

// Transient reports whether the same call may succeed later: the database is away, full, or read-only for now, as it is
// during a failover.
func Transient(err error) bool {
	return (store.IsRetryable(err) || errors.Is(err, store.ErrReadOnly)) && !errors.Is(err, supervise.ErrPanicked)
}
