package commit

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

const (
	// LastAside bounds the wait of an op that was put aside before it is tried again; it starts at
	// firstAside and doubles.
	LastAside  = 100 * time.Millisecond
	firstAside = 2 * time.Millisecond
)

// aside has the ops that are blocked by a caller's transaction. They are retried here, apart from
// the backlog, so that a transaction that locks a job or a key for half a minute delays only what
// needs that job or key.
type aside struct {
	mu     sync.Mutex
	ops    []*op
	trying map[*op]bool // taken, and neither answered nor put back
	wake   chan struct{}
}

// put adds ops. Each waits twice as long as the time before.
func (a *aside) put(ops []*op, now time.Time) {
	if len(ops) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, o := range ops {
		if o.wait == 0 && o.aside != nil {
			o.aside()
		}
		o.wait = min(max(2*o.wait, firstAside), LastAside)
		o.next = now.Add(o.wait)
		delete(a.trying, o)
	}
	a.ops = append(a.ops, ops...)
	supervise.Signal(a.wake)
}

// take removes due ops, up to limit operations but at least one, and returns how long to wait for
// the next if none is due. waiting is false if there are no ops at all.
func (a *aside) take(limit int, now time.Time) (due []*op, wait time.Duration, waiting bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	wait = LastAside
	left := a.ops[:0]
	size := 0
	for _, o := range a.ops {
		switch in := o.next.Sub(now); {
		case in <= 0 && (size == 0 || size+o.size() <= limit):
			due = append(due, o)
			if a.trying == nil {
				a.trying = map[*op]bool{}
			}
			a.trying[o] = true
			size += o.size()
			continue
		case in > 0:
			wait = min(wait, in)
		default:
			wait = 0
		}
		left = append(left, o)
	}
	clear(a.ops[len(left):])
	a.ops = left
	return due, wait, len(left) > 0
}

// forget drops an op that was taken and is about to be answered; its caller may reuse it then.
func (a *aside) forget(o *op) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.trying, o)
}

// left returns the ops that were taken and are neither answered nor put back.
func (a *aside) left() []*op {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Keys(a.trying))
}

// ending adds the jobs whose outcomes are here.
func (a *aside) ending(jobs map[store.ID]bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, o := range a.ops {
		o.ending(jobs)
	}
	for o := range a.trying {
		o.ending(jobs)
	}
}

// superviseAside runs workAside and restarts it after a panic.
func (c *Committer) superviseAside() {
	c.Guard.Restart("operations put aside", c.workAside, func(wait time.Duration) bool {
		c.abandonAside()
		supervise.Sleep(c.force, wait)
		return true
	})
}

// abandonAside gives up the ops in progress after a panic, which may have caused it and may have
// been committed. Writes of runs are retried once, because the work of the run would be lost with
// them; the store recognises what was committed.
func (c *Committer) abandonAside() {
	for _, o := range c.aside.left() {
		if o.panicked || o.Outcome == nil && o.Append == nil {
			c.answer(o, supervise.ErrPanicked)
			continue
		}
		o.panicked = true
		o.markRepeated()
		c.aside.put([]*op{o}, time.Now()) //nolint:forbidigo // how long to wait, and not what time it is
	}
}

// workAside retries the ops, until none is left after the committer was told to stop. It is the
// loop of one goroutine.
func (c *Committer) workAside() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	limit := max(c.Store.Traits().MaxBatch, 1)
	stop := c.stop
	for {
		due, wait, waiting := c.aside.take(limit, time.Now()) //nolint:forbidigo // how long to wait, and not what time it is
		if len(due) > 0 {
			c.tryAside(due)
			continue
		}
		if !waiting {
			if stop == nil && c.working.Load() == 0 {
				return
			}
			wait = time.Hour
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-c.aside.wake:
		case <-stop:
			stop = nil
		}
	}
}

// tryAside retries ops. Callers that have left or waited for Patience are answered; the errors of
// their operations name what blocks them.
func (c *Committer) tryAside(ops []*op) {
	now := c.Store.Now()
	kept := ops[:0]
	for _, o := range ops {
		if o.ctx != nil && (o.ctx.Err() != nil || now.Sub(o.since) >= c.Patience) {
			c.answer(o, nil)
			continue
		}
		kept = append(kept, o)
	}
	if n := fit(c.asidePortion, kept); n > 0 {
		batch := assemble(kept[:n])
		batch.Patient = true
		again := c.flush(c.asidePortion, kept[:n:n], batch, nil)
		c.aside.put(append(again, kept[n:]...), time.Now()) //nolint:forbidigo // as above
	}
}
