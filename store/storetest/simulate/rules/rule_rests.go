package rules

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// restRule: no job of a queue that rests, or is paused, starts; a rest is as long as was asked for,
// and a run that ends for it is not counted.
type restRule struct {
	e      *eye
	until  map[string]store.Resting
	paused map[string]bool
}

func newRestRule(e *eye) rule { return &restRule{e, map[string]store.Resting{}, map[string]bool{}} }

func (r *restRule) check(c *change) {
	for _, j := range c.started {
		if r.until[j.Queue].At(c.now) || r.paused[j.Queue] {
			play.Brokenf("Rests", "%v starts, whose queue rests %v, or is paused: %v", j, r.until[j.Queue], r.paused[j.Queue])
		}
	}
	if c.err != nil {
		return
	}
	switch p := c.params.(type) {
	case store.PauseParams:
		if r.paused[p.Queue] = p.Paused; !p.Paused {
			delete(r.until, p.Queue)
		}
	case store.RestParams:
		resting, _ := c.answer.(store.Resting)
		was := r.until[p.Queue]
		if least := c.now.Add(p.For).Truncate(time.Microsecond); resting.Until.Before(least) || was.At(c.now) && resting.Until.Before(was.Until) {
			play.Brokenf("Rests", "%s is to rest for %v, from %v on, and rested %v, and rests %v", p.Queue, p.For, c.now, was, resting)
		}
		if was.At(c.now) && resting.Level != was.Level {
			play.Brokenf("Rests", "%s rests %v, and another request makes that %v", p.Queue, was, resting)
		}
		r.until[p.Queue] = resting
	case *store.Batch:
		for _, o := range p.Outcomes {
			r.checkOutcome(c, o)
		}
	}
}

func (r *restRule) checkOutcome(c *change, o *store.Outcome) {
	was, j := c.was[o.Lease.Job], r.e.jobs[o.Lease.Job]
	if o.Rest == nil || o.Err != nil || was == nil || was.Lease != o.Lease || was.State != store.Running || o.Final.Finished() {
		return
	}
	if j.Attempt != was.Attempt-1 || !j.RunAt.Equal(o.RunAt) {
		play.Brokenf("Rests", "%v ran its attempt %d, and has %d now that its queue rests; it runs at %v, and should at %v", j, was.Attempt,
			j.Attempt, j.RunAt, o.RunAt)
	}
}

func (*restRule) end() {}
