package engine

import (
	"context"
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/internal/commit"
	"github.com/holdfastdev/holdfast/internal/duty"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/portion"
	"github.com/holdfastdev/holdfast/internal/slots"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

func newDispatcher(n *node) *dispatcher {
	return &dispatcher{
		node: n, woken: make(chan struct{}, 1), freed: make(chan struct{}, 1), began: time.Now(), //nolint:forbidigo // for durations
		asks: asks{Portion: portion.New(max(n.store.Traits().MaxBatch, 1), n.cfg.Beat/3)},
	}
}

// wake notes that there may be jobs in a queue, or in any queue if it is "".
func (d *dispatcher) wake(queue string) {
	d.node.slots.Heard(queue, d.node.store.Now())
	supervise.Signal(d.woken)
}

// free notes that a slot became free.
func (d *dispatcher) free() { supervise.Signal(d.freed) }

func (d *dispatcher) loop(ctx context.Context) {
	poll := firstPoll
	d.node.slots.CutOff(d.node.numbers.taken(d.node.id.Load()))
	for {
		want, due, ok := d.await(ctx, poll)
		if !ok {
			return
		}
		jobs, limit, err := d.take(ctx, min(want.Limit, d.asks.limit()), want.Queues)
		d.last = d.node.store.Now()
		d.node.turns.Note(duty.Claims)
		if err != nil {
			d.node.slots.LearnNothing()
			if ctx.Err() == nil {
				d.node.outage.Failed(logs.CallClaim, err)
				supervise.Sleep(ctx, time.Second)
			}
			continue
		}
		d.node.slots.Learn(want, limit, jobs)
		d.note()
		if due && len(jobs) == 0 {
			poll = min(2*poll, d.slowest())
		} else {
			poll = firstPoll
		}
	}
}

// note tells of jobs that the claims before have passed over because limits per key are reached:
// promotion is to look for them, also when the rate of a key lets the next one start, and there may
// be others to claim.
func (d *dispatcher) note() {
	if !d.passed.Due.IsZero() {
		d.sweep(d.passed.Due)
	}
	if d.passed.Jobs > 0 {
		d.sweep(d.node.store.Now().Add(store.SweepAfter))
	}
	if d.passed.More {
		d.wake("")
	}
	d.passed = store.Passed{}
}

// slowest is the longest poll interval.
func (d *dispatcher) slowest() time.Duration {
	if d.node.store.Traits().Wakeups {
		return d.node.engine.cfg.every(idlePoll)
	}
	return blindPoll
}

// await waits until there may be jobs and room for them, or until the poll interval is over, and
// returns what to claim. due reports that the interval is over.
func (d *dispatcher) await(ctx context.Context, interval time.Duration) (want slots.Demand, due, ok bool) {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for ctx.Err() == nil {
		d.mayLookAgain()
		want = d.node.slots.Demand(d.node.store.Now())
		var looks <-chan time.Time
		if want.Look {
			wait := d.nextLook - d.elapsed()
			if wait <= 0 && d.node.slots.TakeLook() {
				d.look(ctx)
				continue
			}
			looks = time.After(wait)
		}
		if want.Limit > 0 && (want.Likely || due) {
			want = d.gather(ctx, want)
			if want.Limit > 0 && ctx.Err() == nil {
				return want, due, true
			}
			continue
		}
		d.logFull()
		freed := d.freed
		if !want.Waits && !due {
			freed = nil // room alone is no reason to claim
		}
		select {
		case <-d.woken:
		case <-freed:
		case <-looks:
		case <-timer.C:
			d.node.slots.Probe()
			if due = true; d.node.slots.Names() {
				due = false // it is looked which queues have jobs, and nothing else
				timer.Reset(d.slowest())
			}
		case <-ctx.Done():
		}
	}
	return slots.Demand{}, false, false
}

const (
	// lookEvery is how often a node that claims finds out which queues have jobs, where its claims
	// name those that do: of a queue that rested, or whose wake-up was lost, it is not told.
	lookEvery = time.Second
	// lookShare bounds what that takes of its time, one part in so many, and lookTimeout how long
	// it may take: meanwhile nothing is claimed. A node that uses the slots that others want looks
	// as often, so as not to claim in vain before it gives one back, which costs more.
	lookShare   = 10
	lookTimeout = time.Second
)

// mayLookAgain has it found out which queues have jobs, if that is long ago.
func (d *dispatcher) mayLookAgain() {
	if at := d.elapsed(); at-d.looked >= lookEvery && at >= d.nextLook {
		d.looked = at
		d.node.slots.Unsure()
	}
}

// elapsed is a clock that is never set.
func (d *dispatcher) elapsed() time.Duration {
	return time.Since(d.began) //nolint:forbidigo // a duration, not the time of day
}

// look finds out which queues have jobs. While that fails claims go on by what is known.
func (d *dispatcher) look(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	found, began := false, d.elapsed()
	defer func() {
		if !found { // whatever has become of the call: it may have panicked
			d.node.slots.NotFound()
		}
		d.looked = d.elapsed()
		d.nextLook = d.looked + (lookShare-1)*(d.looked-began)
	}()
	queues, err := d.node.store.Busy(call, d.node.runner.namespace)
	d.node.turns.Note(duty.Claims)
	if err != nil {
		if ctx.Err() == nil {
			d.node.outage.Failed(logs.CallClaim, err)
			began -= 50 * time.Millisecond // it may have failed at once
		}
		return
	}
	d.node.outage.Succeeded(logs.CallClaim)
	d.node.slots.Found(queues, d.node.store.Now())
	found = true
}

// gather waits up to claimGap if there is room for a few jobs only, so that a busy node claims in
// batches while a node with long jobs fills each slot at once. It returns what there is room for
// then.
func (d *dispatcher) gather(ctx context.Context, want slots.Demand) slots.Demand {
	wait := min(claimGap, claimGap-d.node.store.Now().Sub(d.last)) // the clock may have been set back
	if want.Limit*4 < d.node.slots.Most() && wait > 0 {
		supervise.Sleep(ctx, wait)
	}
	return d.node.slots.Claim(d.node.store.Now())
}

// logFull logs, once until it is over, that no jobs are claimed because too many outcomes cannot be
// stored.
func (d *dispatcher) logFull() {
	aside, full := d.node.slots.Aside()
	if full && !d.full {
		d.node.log.Warn("no more jobs are claimed: too many outcomes wait for callers' transactions, "+
			"which lock their jobs or the parents of their jobs", logs.KeyOutcomes, aside)
	}
	d.full = full
}

// take claims jobs and starts them. It returns the limit of the last request.
func (d *dispatcher) take(ctx context.Context, limit int, queues []store.QueueDemand) ([]store.Claimed, int, error) {
	n := d.node
	id := n.id.Load()
	params := store.ClaimParams{
		Node: id, Seq: n.numbers.take(id, limit), Namespace: n.runner.namespace, Queues: queues, Kinds: n.kinds, Limit: limit,
		Aging: n.cfg.Aging, Passed: &d.passed,
	}
	defer n.numbers.settle(id, params.Seq)
	jobs, again, err := d.claim(ctx, params)
	d.start(jobs)
	for len(jobs) > 0 && again.Limit < again.Sent && err == nil {
		// The repeat asked for fewer jobs than the claim took. Those that arrived run; fetch the
		// others.
		var more []store.Claimed
		again.After = jobs[len(jobs)-1].Lease
		more, again, err = d.claim(ctx, again)
		if len(more) == 0 {
			break
		}
		d.start(more)
		jobs = append(jobs, more...)
	}
	return jobs, again.Limit, err
}

// claim claims jobs. If the answer is lost it repeats the same claim, which is idempotent: jobs
// claimed without the node knowing would stay leased until a beat finds them. It asks for fewer
// jobs if the answer took too long, and returns the params it asked with.
func (d *dispatcher) claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, store.ClaimParams, error) {
	n, id := d.node, params.Node
	for try := 1; ; try++ {
		// Not ctx: a claim in progress when the node stops is waited for, and its jobs are given
		// back.
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout(n.cfg.Beat))
		began := time.Now() //nolint:forbidigo // a duration, not the time of day
		jobs, err := n.store.Claim(call, params)
		took := time.Since(began) //nolint:forbidigo // as above
		cancel()
		switch {
		case err == nil:
			n.outage.Succeeded(logs.CallClaim)
			d.asks.answered(jobs, took)
			n.engine.cfg.Observer.Claim(params.Namespace, len(jobs), took)
			return jobs, params, nil
		case errors.Is(err, store.ErrNodeDead):
			n.declaredDead(ctx, id)
			d.wake("") // this claim found out nothing
			return nil, params, nil
		case ctx.Err() != nil:
			return nil, params, err // Leave gives back what the claim may have taken
		case commit.Transient(err) || errors.Is(err, context.DeadlineExceeded):
			n.outage.Failed(logs.CallClaim, err)
			if d.asks.repeat(&params, took) {
				d.waitForBeat(ctx)
			}
			supervise.Sleep(ctx, store.Backoff{Base: 20 * time.Millisecond, Cap: 2 * time.Second, Jitter: 0.5}.Delay(try))
			if n.id.Load() != id {
				d.wake("")
				return nil, params, nil
			}
		default:
			n.engine.fatal(err)
			return nil, params, err
		}
	}
}

// start runs the jobs for which there is a slot; the others wait in the buffer.
func (d *dispatcher) start(jobs []store.Claimed) {
	d.node.runAll(d.node.slots.Admit(jobs))
	d.node.refuse()
}

// claimTimeout bounds a claim. A claim locks the row of its node until its answer has arrived,
// which blocks the beat; so it must end before the node looks dead.
func claimTimeout(beat time.Duration) time.Duration {
	return min(store.CallTimeout, max(2*beat, store.CallTimeout/3))
}

func (a *asks) limit() int {
	if a.heavy == 0 {
		return a.Count
	}
	return max(min(a.Count, a.Bytes/a.heavy), 1)
}

// answered updates the estimates from the answer to a claim.
func (a *asks) answered(jobs []store.Claimed, took time.Duration) {
	if len(jobs) == 0 {
		return
	}
	bytes := 0
	for i := range jobs {
		bytes += portion.WeightOfJob(&jobs[i].Job)
		if c := jobs[i].Checkpoint; c != nil {
			bytes += len(c.Message) + len(c.Value)
		}
	}
	a.heavy = max(bytes/len(jobs), a.heavy*3/4)
	a.Went(len(jobs), bytes, took)
}

// repeat turns params into a repetition of the claim: for the same jobs, or for a quarter of them
// if it took long, because no beat succeeds meanwhile. It reports whether it asks for less.
func (a *asks) repeat(params *store.ClaimParams, took time.Duration) (less bool) {
	params.Repeat, params.Sent = true, max(params.Sent, params.Limit)
	if took < portion.SlowFailure {
		return false
	}
	for range 2 {
		a.Halve(params.Limit, a.Bytes)
	}
	params.Limit = min(params.Limit, a.Count)
	return true
}
