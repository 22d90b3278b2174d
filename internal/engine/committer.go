package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// op is what one caller wants to have committed: enqueues, or what a run writes. A checkpoint and an outcome in one op
// are committed together.
type op struct {
	checkpoint *store.CheckpointWrite
	remembered *store.Append
	sends      []*store.Send
	outcome    *store.Outcome
	enqueues   []*store.Enqueue

	ctx   context.Context // of a caller that waits; nil if nobody does
	since time.Time       // when the first try began
	tried bool            // and its answer was lost
	done  func(error)     // called once, from the committer
}

func (o *op) size() int {
	n := len(o.enqueues) + len(o.sends)
	if o.remembered != nil {
		n += len(o.remembered.Entries) + len(o.remembered.Enqueues)
	}
	if o.checkpoint != nil {
		n++
	}
	if o.outcome != nil {
		n++
	}
	return n
}

// lane is a line of ops that are committed together.
type lane struct {
	mu      sync.Mutex
	waiting []*op
	flying  []store.ID // jobs whose outcomes were taken and are not answered yet
	wake    chan struct{}
}

func (l *lane) put(o *op) {
	l.mu.Lock()
	l.waiting = append(l.waiting, o)
	l.mu.Unlock()
	signal(l.wake)
}

// take removes ops from the head of the line, at least one if there is one, up to limit operations.
func (l *lane) take(limit int) []*op {
	l.mu.Lock()
	defer l.mu.Unlock()
	count, n := 0, 0 // a single op may be larger than the limit
	for n < len(l.waiting) && (n == 0 || count+l.waiting[n].size() <= limit) {
		count += l.waiting[n].size()
		n++
	}
	taken := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	if len(l.waiting) == 0 {
		l.waiting = nil
	}
	l.note(taken)
	return taken
}

// note adds the jobs whose outcomes are among ops that were taken. l.mu is held.
func (l *lane) note(ops []*op) {
	for _, o := range ops {
		if o.outcome != nil {
			l.flying = append(l.flying, o.outcome.Lease.Job)
		}
	}
}

// keep notes which of the ops that were taken are still to be answered.
func (l *lane) keep(ops []*op) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flying = l.flying[:0]
	l.note(ops)
}

// ending adds the jobs whose outcomes are in the line or on their way.
func (l *lane) ending(jobs map[store.ID]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range l.flying {
		jobs[id] = true
	}
	for _, o := range l.waiting {
		if o.outcome != nil {
			jobs[o.outcome.Lease.Job] = true
		}
	}
}

func (l *lane) length() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

// committer is the one way of writes into the store. It adds no delay: a lone write is committed at once, and whatever
// arrives meanwhile waits for the next commit and shares it, with what those want next whom this one has answered.
//
// There is one line: large batches are cheap ones, and two commits at a time that end runs of one claim would wait for each other. A
// store with several writers has a second one, of enqueues that may meet another one of the same key or id. Those wait for it while it is
// being inserted by a long transaction of somebody else, and nothing else may wait with them.
type committer struct {
	store    store.Store
	patience time.Duration
	log      *slog.Logger
	after    func(*store.Batch)               // told of each committed batch
	reserve  func([]*store.Enqueue) *starting // takes slots for jobs that may run at once; nil if there are none

	main, contested *lane
	calls           sync.Pool // that are used again, which those are not whose caller has left: they may still be answered

	stop    chan struct{} // closed: flush what waits, then end
	force   context.Context
	abandon context.CancelFunc
	workers sync.WaitGroup
}

func newCommitter(
	st store.Store, patience time.Duration, log *slog.Logger, after func(*store.Batch), reserve func([]*store.Enqueue) *starting,
) *committer {
	c := &committer{store: st, patience: patience, log: log, after: after, reserve: reserve, stop: make(chan struct{})}
	c.force, c.abandon = context.WithCancel(context.Background()) //nolint:forbidigo // the root of the committer's own life
	start := func() *lane {
		l := &lane{wake: make(chan struct{}, 1)}
		c.workers.Go(func() { c.work(l) })
		return l
	}
	c.main = start()
	c.contested = c.main
	if st.Traits().Writers > 1 {
		c.contested = start()
	}
	return c
}

// close commits what waits and ends. When ctx ends first, what is left is given up.
func (c *committer) close(ctx context.Context) {
	close(c.stop)
	unhook := context.AfterFunc(ctx, c.abandon)
	c.workers.Wait()
	unhook()
	c.abandon()
}

// Enqueue commits enqueues and returns when they are durable. When ctx ends first, or the database stays away too long, the
// error is an ErrUnavailable: they may have happened, and may be repeated with the same ids.
func (c *committer) Enqueue(ctx context.Context, enqueues []*store.Enqueue) error {
	line := c.main
	if slices.ContainsFunc(enqueues, func(e *store.Enqueue) bool { return e.Job.UniqueKey != nil || e.KnownID }) {
		line = c.contested
	}
	return c.wait(ctx, line, op{enqueues: enqueues})
}

// Checkpoint commits a run's checkpoint and returns when it is durable.
func (c *committer) Checkpoint(ctx context.Context, w *store.CheckpointWrite) error {
	if err := c.wait(ctx, c.main, op{checkpoint: w}); err != nil {
		return err
	}
	return w.Err
}

// call is how somebody waits for ops, one after the other: what each of them needs is made once.
type call struct {
	op     op
	answer chan error
}

func newCall() *call {
	w := &call{answer: make(chan error, 1)}
	w.op.done = func(err error) { w.answer <- err }
	return w
}

// Append commits what a run remembers and returns when it is durable. It is repeated until the store answers, the run's life ends or the
// committer is abandoned. After the end of that life w is not to be used again.
func (c *committer) Append(l *life, a *store.Append, w *call) error {
	w.op = op{remembered: a, done: w.op.done}
	c.main.put(&w.op)
	select {
	case err := <-w.answer:
		if err != nil {
			return errors.Join(err, a.Err)
		}
		return a.Err
	case <-l.over():
		return l.ended()
	}
}

// Send commits messages and returns when they are durable.
func (c *committer) Send(ctx context.Context, sends []*store.Send) error {
	return c.wait(ctx, c.main, op{sends: sends})
}

// Finish commits the outcome of a run, with its last checkpoint and what it remembers if there is such, and calls done.
// It is repeated until the store answers or the committer is abandoned.
func (c *committer) Finish(o *store.Outcome, last *store.CheckpointWrite, remembered *store.Append, done func(error)) {
	c.main.put(&op{outcome: o, checkpoint: last, remembered: remembered, done: done})
}

func (c *committer) wait(ctx context.Context, line *lane, o op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w, ok := c.calls.Get().(*call)
	if !ok {
		w = newCall()
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

func (c *committer) work(l *lane) {
	limit := max(c.store.Traits().MaxBatch, 1)
	var ops []*op       // not committed yet: what could not be, in front
	var begun *starting // of these: they were tried, and may run already
	var company gatherer
	for try := 0; ; {
		size := 0
		for _, o := range ops {
			size += o.size()
		}
		if len(ops) == 0 || size < limit {
			ops = append(ops, l.take(limit-size)...)
		}
		if len(ops) > 0 {
			// What came meanwhile joins what is repeated, so that its callers, too, learn that the database is away.
			answered := callers(ops)
			ops, begun = c.try(ops, begun, l == c.main)
			if l.keep(ops); len(ops) == 0 {
				try = 0
				company.gather(l, answered)
				continue
			}
			try++
			sleepFor(c.force, Delay(store.Backoff{Base: 10 * time.Millisecond, Cap: time.Second, Jitter: 0.5}, try))
			continue
		}
		select {
		case <-l.wake:
		case <-c.stop:
			if l.length() == 0 {
				return
			}
		}
	}
}

// try commits the ops as one batch. It returns those that are to be repeated, and what of them may run already. Only on the main line
// jobs run as they are enqueued: the node's row is locked meanwhile.
func (c *committer) try(ops []*op, begun *starting, main bool) (again []*op, still *starting) {
	if ops = c.drop(ops, nil); len(ops) == 0 {
		return nil, nil
	}
	batch := assemble(ops)
	if begun == nil && main && len(batch.Enqueues) > 0 && !slices.ContainsFunc(ops, func(o *op) bool { return o.tried }) {
		begun = c.reserve(batch.Enqueues)
	}
	if begun != nil {
		batch.Start = begun.start
	}
	again = c.flush(ops, batch, begun)
	if len(again) > 0 && begun != nil && !begun.settled {
		return again, begun
	}
	return again, nil
}

// flush commits a batch of ops, and one by one if the batch as a whole is refused. It returns those that are to be repeated.
func (c *committer) flush(ops []*op, batch *store.Batch, begun *starting) []*op {
	ctx, cancel := context.WithTimeout(c.force, storeTimeout)
	err := c.store.Apply(ctx, batch)
	cancel()
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: no answer within %v: %w", store.ErrUnavailable, storeTimeout, err)
	}
	switch {
	case err == nil:
		c.after(batch)
		begun.settle()
		for _, o := range ops {
			o.done(nil)
		}
	case c.force.Err() != nil:
		begun.cancel()
		for _, o := range ops {
			o.done(fmt.Errorf("%w: stopped before the commit: %w", store.ErrClosed, err))
		}
	case transient(err):
		c.log.Warn("commit did not go through; repeating", "operations", batch.Len(), "error", err)
		for _, o := range batch.Outcomes {
			o.Repeat = true
		}
		for _, a := range batch.Appends {
			a.Repeat = true
		}
		begun.failed(err)
		return c.drop(ops, err)
	case len(ops) > 1:
		begun.cancel()
		var again []*op
		for i := range ops {
			one := ops[i : i+1 : i+1]
			again = append(again, c.flush(one, assemble(one), nil)...)
		}
		return again
	default:
		begun.cancel()
		ops[0].done(err)
	}
	return nil
}

// drop answers and removes the ops that are not worth (another) try. What may run already is answered and stays, so that the node learns
// of it.
func (c *committer) drop(ops []*op, err error) []*op {
	now := c.store.Now()
	kept := ops[:0]
	for _, o := range ops {
		if o.since.IsZero() {
			o.since = now
		}
		o.tried = o.tried || err != nil
		why := c.hopeless(o, err, now)
		switch {
		case why == nil:
			kept = append(kept, o)
			continue
		case o.tried && slices.ContainsFunc(o.enqueues, func(q *store.Enqueue) bool { return q.Start }):
			stays := *o // who is answered may use the op again
			stays.ctx, stays.done = nil, func(error) {}
			kept = append(kept, &stays)
		}
		o.done(why)
	}
	return kept
}

// hopeless tells why an op is not worth (another) try: its caller left, or, after an error, it is an enqueue that was tried for long enough
// or that a full or read-only database refuses. Outcomes always go on.
func (c *committer) hopeless(o *op, err error, now time.Time) error {
	switch {
	case o.ctx == nil:
		return nil
	case o.ctx.Err() != nil && o.tried:
		return fmt.Errorf("%w: gave up after a try whose answer was lost: %w", store.ErrUnavailable, context.Cause(o.ctx))
	case o.ctx.Err() != nil:
		return o.ctx.Err()
	case err != nil && (now.Sub(o.since) >= c.patience || !errors.Is(err, store.ErrUnavailable)):
		return err
	}
	return nil
}

// callers is how many of the ops somebody waits for, who may want something else next.
func callers(ops []*op) int {
	n := 0
	for _, o := range ops {
		if o.outcome == nil {
			n++
		}
	}
	return n
}

func assemble(ops []*op) *store.Batch {
	batch := &store.Batch{}
	for _, o := range ops {
		if o.checkpoint != nil {
			o.checkpoint.Err = nil
			batch.Checkpoints = append(batch.Checkpoints, o.checkpoint)
		}
		if o.remembered != nil {
			o.remembered.Err = nil
			for _, e := range o.remembered.Enqueues {
				e.Err = nil
			}
			batch.Appends = append(batch.Appends, o.remembered)
		}
		for _, s := range o.sends {
			s.Err = nil
		}
		batch.Sends = append(batch.Sends, o.sends...)
		if o.outcome != nil {
			o.outcome.Err = nil
			batch.Outcomes = append(batch.Outcomes, o.outcome)
		}
		for _, e := range o.enqueues {
			e.Err = nil
		}
		batch.Enqueues = append(batch.Enqueues, o.enqueues...)
	}
	return batch
}

// transient reports whether the same call may succeed later: the database is away, full, or read-only for now, as it is
// during a failover.
func transient(err error) bool {
	return store.IsRetryable(err) || errors.Is(err, store.ErrReadOnly)
}

// sleepFor waits for d or until ctx ends.
func sleepFor(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
