package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// dispatcher is a node's claim loop. It claims when it was woken, or the last claim was full, and there is room; and
// by an interval that doubles while there is nothing to do.
type dispatcher struct {
	node  *node
	woken chan struct{}
	freed chan struct{}
	asks  asks
	last  time.Time
	full  bool // too many outcomes waited for callers' transactions when room was looked for

	news    atomic.Int64 // counts the wake-ups
	emptied atomic.Int64 // what news was before the last claim, if that took all there was; otherwise -1
}

func newDispatcher(n *node) *dispatcher {
	d := &dispatcher{
		node: n, woken: make(chan struct{}, 1), freed: make(chan struct{}, 1),
		asks: asks{portion: newPortion(max(n.store.Traits().MaxBatch, 1), n.cfg.Beat/3)},
	}
	d.emptied.Store(-1)
	return d
}

func (d *dispatcher) wake() {
	d.news.Add(1)
	signal(d.woken)
}

// sawNothing reports whether the last claim left nothing behind and nothing has come since, as far as this node was told.
func (d *dispatcher) sawNothing() bool { return d.emptied.Load() == d.news.Load() }

// free tells that a slot became free.
func (d *dispatcher) free() { signal(d.freed) }

func (d *dispatcher) loop(ctx context.Context) {
	poll := firstPoll
	for ctx.Err() == nil {
		limit, queues, ok := d.room(ctx)
		if !ok {
			return
		}
		limit = min(limit, d.asks.limit())
		select {
		case <-d.woken: // what it tells of is seen by the claim that follows
		default:
		}
		news := d.news.Load()
		jobs, limit, err := d.take(ctx, limit, queues)
		if err != nil || !d.node.slots.tookAll(jobs, limit, queues) {
			news = -1
		}
		d.emptied.Store(news)
		d.last = d.node.store.Now()
		if err != nil {
			if ctx.Err() == nil {
				d.node.outage.failed(callClaim, err)
				sleepFor(ctx, time.Second)
			}
			continue
		}
		if len(jobs) > 0 {
			poll = firstPoll
		}
		if len(jobs)*4 >= limit {
			continue // there may be more: what others were taking at the same moment was passed over
		}
		if !d.rest(ctx, poll) {
			poll = min(2*poll, d.slowest())
		} else {
			poll = firstPoll
		}
	}
}

// slowest is the longest interval between two looks.
func (d *dispatcher) slowest() time.Duration {
	if d.node.store.Traits().Wakeups {
		return idlePoll
	}
	return blindPoll
}

// rest waits for a wake-up or for the interval, and reports whether it was woken.
func (d *dispatcher) rest(ctx context.Context, interval time.Duration) bool {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	select {
	case <-d.woken:
		signal(d.woken) // left for the loop to take
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// room waits until there is room for jobs: for a quarter of the slots, or for any after a moment, so that a busy node
// claims in batches and a node with long jobs fills each slot at once.
func (d *dispatcher) room(ctx context.Context) (limit int, queues []store.QueueDemand, ok bool) {
	for {
		limit, queues = d.node.slots.demand(d.node.store.Now())
		if limit > 0 {
			wait := claimGap - d.node.store.Now().Sub(d.last)
			if limit*4 >= d.node.cfg.Slots || wait <= 0 {
				return limit, queues, true
			}
			sleepFor(ctx, wait)
			if ctx.Err() != nil {
				return 0, nil, false
			}
			limit, queues = d.node.slots.demand(d.node.store.Now())
			if limit > 0 {
				return limit, queues, true
			}
		}
		d.tellFull()
		select {
		case <-d.freed:
		case <-ctx.Done():
			return 0, nil, false
		}
	}
}

// tellFull logs that no jobs are taken because of outcomes that cannot be stored, once until that is over.
func (d *dispatcher) tellFull() {
	full := d.node.slots.tooManyWait()
	if full && !d.full {
		d.node.log.Warn("no more jobs are taken: too many outcomes wait for callers' transactions, "+
			"which hold their jobs or the parents of these", keyOutcomes, d.node.slots.aside.Load())
	}
	d.full = full
}

// take claims jobs and starts them. It returns how many it has asked for in the end.
func (d *dispatcher) take(ctx context.Context, limit int, queues []store.QueueDemand) ([]store.Claimed, int, error) {
	n := d.node
	id := n.id.Load()
	params := store.ClaimParams{
		Node: id, Seq: n.numbers.take(id, limit), Namespace: n.engine.cfg.Namespace, Queues: queues, Kinds: n.kinds, Limit: limit,
		Aging: n.cfg.Aging,
	}
	defer n.numbers.settle(id, params.Seq)
	jobs, again, err := d.claim(ctx, params)
	d.start(jobs)
	for len(jobs) > 0 && again.Limit < again.Sent && err == nil {
		// A part of what was claimed has arrived, and runs already.
		var more []store.Claimed
		again.After = jobs[len(jobs)-1].Lease
		if more, again, err = d.claim(ctx, again); len(more) == 0 {
			break
		}
		d.start(more)
		jobs = append(jobs, more...)
	}
	return jobs, again.Limit, err
}

// claim takes jobs. When the answer is lost it asks again for the same claim until it knows: a claim that happened unknown
// to the node would be held by it until a beat finds it. It asks for less if the answer took too long, and returns what it has asked for.
func (d *dispatcher) claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, store.ClaimParams, error) {
	n, id := d.node, params.Node
	for try := 1; ; try++ {
		// Not ctx: a claim that is under way when the node stops is waited for, and given back.
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout(n.cfg.Beat))
		began := time.Now() //nolint:forbidigo // how long it takes, and not what time it is
		jobs, err := n.store.Claim(call, params)
		took := time.Since(began) //nolint:forbidigo // as above
		cancel()
		switch {
		case err == nil:
			n.outage.succeeded(callClaim)
			d.asks.answered(jobs, took)
			return jobs, params, nil
		case errors.Is(err, store.ErrNodeDead):
			n.declaredDead(ctx, id)
			d.wake() // nothing was looked at
			return nil, params, nil
		case ctx.Err() != nil:
			return nil, params, err // Leave gives back what the claim may have taken
		case transient(err) || errors.Is(err, context.DeadlineExceeded):
			n.outage.failed(callClaim, err)
			if d.asks.repeat(&params, took) {
				d.letBeat(ctx)
			}
			sleepFor(ctx, store.Backoff{Base: 20 * time.Millisecond, Cap: 2 * time.Second, Jitter: 0.5}.Delay(try))
			if n.id.Load() != id {
				d.wake()
				return nil, params, nil
			}
		default:
			n.engine.fatal(err)
			return nil, params, err
		}
	}
}

// start runs the jobs for which there is a slot; the others wait in the buffer for one.
func (d *dispatcher) start(jobs []store.Claimed) {
	for _, c := range d.node.slots.admit(jobs) {
		d.node.run(c)
	}
}
