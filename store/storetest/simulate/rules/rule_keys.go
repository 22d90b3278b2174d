package rules

import (
	"bytes"
	"cmp"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// keyRule: of each key of a limit per key no more jobs run than it says; none starts while there
// are as many.
type keyRule struct{ e *eye }

func newKeyRule(e *eye) rule { return &keyRule{e} }

func (r *keyRule) check(c *change) {
	l := r.e.limitNamed(perKey)
	if l == nil || !l.PerKey {
		return
	}
	running := map[string]int{}
	for _, j := range r.e.order {
		if j.State == store.Running {
			running[j.Options.LimitKey]++
		}
	}
	for _, j := range c.started {
		if key := j.Options.LimitKey; key != "" && running[key] > l.Capacity {
			play.Brokenf("Keys", "%v starts, with which %d jobs of the key %s run, of which %d may", j, running[key], key, l.Capacity)
		}
	}
	if c.op == "Claim" && c.err == nil {
		for _, j := range c.started {
			r.checkBest(c, j)
		}
	}
}

// checkBest: jobs of a key run in the order of their priority and run time.
func (r *keyRule) checkBest(c *change, j *job) {
	p, _ := c.params.(store.ClaimParams)
	if j.Options.Limit == "" || j.OrderingKey != "" || j.Options.FairKey != "" || p.Queues != nil || p.Aging > 0 {
		return
	}
	for _, other := range r.e.order {
		was := c.was[other.ID]
		if was == nil || was.State != store.Available || other.State != store.Available || other.Options.LimitKey != j.Options.LimitKey ||
			other.OrderingKey != "" || other.Options.FairKey != "" || r.e.holdsBack(other, c) {
			continue
		}
		if cmp.Or(cmp.Compare(other.Priority, j.Priority), other.RunAt.Compare(c.was[j.ID].RunAt), bytes.Compare(other.ID[:], j.ID[:])) < 0 {
			play.Brokenf("Keys", "%v starts before %v of the same key", j, other)
		}
	}
}

func (*keyRule) end() {}

// turnRule: of the jobs of an ordering key one runs at a time, and none before one that has started
// and not finished, or that failed and keeps its turn.
type turnRule struct {
	e      *eye
	holder map[string]store.ID
	keeps  map[store.ID]bool // jobs that keep their turn when they fail, as they were enqueued
}

func newTurnRule(e *eye) rule { return &turnRule{e, map[string]store.ID{}, map[store.ID]bool{}} }

func (r *turnRule) check(c *change) {
	if b, isBatch := c.params.(*store.Batch); isBatch {
		for _, q := range store.Unfold(b.Enqueues) {
			r.keeps[q.Job.ID] = q.Job.Options.KeepTurn
		}
	}
	r.givenUp(c)
	for _, j := range c.started {
		if j.OrderingKey == "" {
			continue
		}
		key := j.Queue + "/" + j.OrderingKey
		if holder := r.e.jobs[r.holder[key]]; holder != nil && holder != j {
			play.Brokenf("Turns", "%v starts while %v has the turn of %s, which is %v, and keeps it: %v", j, holder, key, holder.State,
				r.keeps[holder.ID])
		}
		r.holder[key] = j.ID
	}
}

// givenUp notes whose turns are over: of those who end, but for those who fail and keep it, until a
// person says that the others are to go on.
func (r *turnRule) givenUp(c *change) {
	for key, id := range r.holder {
		j, was := r.e.jobs[id], c.was[id]
		keeps := j != nil && j.State == store.Failed && r.keeps[id]
		if p, isCancel := c.params.(store.CancelParams); keeps && isCancel && c.err == nil && p.Jobs[0] == id && was.State == store.Failed {
			keeps = p.Unrecorded && !p.Skip
		}
		if j == nil || j.State.Finished() && !keeps {
			delete(r.holder, key)
		}
	}
}

func (*turnRule) end() {}
