package crashtest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/events"
	"github.com/holdfastdev/holdfast/store"
)

// producer enqueues jobs one batch after the other, and repeats what is not confirmed under the
// same ids, until it is told to end.
type producer struct {
	l       *load
	random  *rand.Rand
	last    int
	repeats int // batches that were not confirmed at first
	end     context.CancelFunc
	working sync.WaitGroup
}

func (l *load) produce(random *rand.Rand) *producer {
	ctx, cancel := context.WithCancel(context.Background())
	p := &producer{l: l, random: random, end: cancel}
	p.working.Go(func() {
		for ctx.Err() == nil {
			p.batch()
			_ = spend(ctx, 20*time.Millisecond)
		}
	})
	l.c.t.Cleanup(p.stop)
	return p
}

// stop returns when all that was begun is confirmed.
func (p *producer) stop() {
	p.end()
	p.working.Wait()
}

// plain draws a job of which nothing is asked while it runs.
func (p *producer) plain() work {
	p.last++
	w := work{N: p.last, Millis: p.random.IntN(30), Stages: p.random.IntN(3)}
	if p.random.IntN(10) == 0 {
		w.Fails = 1
	}
	if p.random.IntN(10) == 0 {
		w.Snoozes = 1
	}
	return w
}

func (p *producer) batch() {
	ids, jobs := make([]holdfast.ID, 5), make([]work, 5)
	list := make([]holdfast.BatchItem, len(jobs))
	for i := range jobs {
		ids[i], jobs[i] = holdfast.NewID(), p.plain()
		list[i] = crashWork.Item(jobs[i], append(options(jobs[i]), holdfast.JobID(ids[i]))...)
		p.l.plan[jobs[i].N] = jobs[i]
	}
	for p.l.c.t.Context().Err() == nil {
		results, err := p.l.clients[0].EnqueueBatch(p.l.c.t.Context(), list)
		if err == nil {
			for i, r := range results {
				if r.Err != nil {
					p.l.c.t.Errorf("job %d: %v", jobs[i].N, r.Err)
				}
				p.l.jobs[ids[i]] = jobs[i].N
			}
			return
		}
		p.repeats++
		if !errors.Is(err, holdfast.ErrUnavailable) {
			p.l.c.t.Errorf("the enqueue of jobs from %d on: %v", jobs[0].N, err)
			return
		}
	}
}

// reader reads all events of a feed, and goes on after those that it has while the database is
// away.
type reader struct {
	found   map[holdfast.ID]int // how often a job has completed
	order   int                 // events that did not come after the one before
	breaks  int
	failed  error
	at      atomic.Int64 // the last position
	end     context.CancelFunc
	working sync.WaitGroup
}

func (l *load) read() *reader {
	l.c.t.Helper()
	l.c.insist(func() error {
		_, err := events.On(l.c.t.Context(), l.c.client)
		return err
	})
	ctx, cancel := context.WithCancel(context.Background())
	r := &reader{found: map[holdfast.ID]int{}, end: cancel}
	r.working.Go(func() {
		var from events.Position
		for ctx.Err() == nil && r.failed == nil {
			from = r.from(ctx, l.clients[1], from)
		}
	})
	l.c.t.Cleanup(r.stop)
	return r
}

// from reads until the database goes away, and returns the last position.
func (r *reader) from(ctx context.Context, client *holdfast.Client, last events.Position) events.Position {
	for event, err := range events.Read(ctx, client, last, events.Filter{}) {
		switch {
		case errors.Is(err, holdfast.ErrUnavailable):
			r.breaks++
			return last
		case err != nil:
			if ctx.Err() == nil {
				r.failed = err
			}
			return last
		case event.Position.Count <= last.Count:
			r.order++
		}
		if last = event.Position; event.State == store.Completed {
			r.found[event.Job]++
		}
		r.at.Store(last.Count)
	}
	return last
}

func (r *reader) stop() {
	r.end()
	r.working.Wait()
}

// verify waits until the reader has all that has happened, and looks whether that is each end of a
// job, once.
func (r *reader) verify(c *cluster, h history) {
	c.t.Helper()
	var newest int64
	c.insist(func() error {
		status, err := events.Look(c.t.Context(), c.client)
		newest = status.Newest.Count
		return err
	})
	c.until("the reader has all events", func() bool { return r.at.Load() >= newest })
	r.stop()
	if r.failed != nil || r.order > 0 {
		c.t.Errorf("the reader failed with %v; %d events were out of order", r.failed, r.order)
	}
	for id, n := range h.enqueued {
		if r.found[id] != 1 {
			c.t.Errorf("job %d: the feed told %d times that it has completed", n, r.found[id])
		}
	}
}
