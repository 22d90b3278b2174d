package rules

import (
	"bytes"
	"maps"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// edgeRule: a job waits for each job that it comes after until that has ended as its policy says,
// and no longer; one whose policy says so is cancelled.
type edgeRule struct {
	e *eye
	// waits are the predecessors that jobs wait for, as the store tells, and their policies.
	waits map[store.ID]map[store.ID]store.FailurePolicy
	// free are jobs that a person let go on.
	free map[store.ID]bool
}

func newEdgeRule(e *eye) rule {
	return &edgeRule{e, map[store.ID]map[store.ID]store.FailurePolicy{}, map[store.ID]bool{}}
}

func (r *edgeRule) check(c *change) {
	switch p := c.params.(type) {
	case *store.Batch:
		for _, q := range store.Unfold(p.Enqueues) {
			if q.Err == nil && !q.Result.Existing && q.Result.ID == q.Job.ID && c.err == nil {
				r.begin(q.Job.ID, q.After)
			}
		}
	case store.DependParams:
		if c.err == nil {
			r.begin(p.Job, p.On)
		}
	case store.ResumeParams:
		r.free[p.Job] = r.free[p.Job] || c.err == nil
	case store.RetryParams:
		for _, id := range p.Jobs { // one that was cancelled because of another one
			r.free[id] = r.free[id] || c.err == nil
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(r.waits), compareIDs) {
		r.follow(c, r.e.jobs[id])
	}
	for _, j := range c.started {
		if len(r.waits[j.ID]) > 0 {
			play.Brokenf("Edges", "%v starts, and comes after %v", j, r.waits[j.ID])
		}
	}
	if closed, isClose := c.answer.(store.Closed); isClose && c.err == nil && !closed.More && !closed.Watch {
		r.told("all ends are told")
	}
}

// begin notes what a job comes after from now on: those that do not let it go already, and those
// that it waits for, with another policy.
func (r *edgeRule) begin(id store.ID, after []store.Dependency) {
	for _, d := range store.Distinct(after) {
		on := r.e.jobs[d.On]
		if on == nil {
			play.Brokenf("Edges", "%s comes after %s, which is not there", short(id), short(d.On))
		}
		if _, waits := r.waits[id][d.On]; !waits && d.IfFailed.Lets(on.State) {
			continue
		}
		if r.waits[id] == nil {
			r.waits[id] = map[store.ID]store.FailurePolicy{}
		}
		r.waits[id][d.On] = d.IfFailed
		delete(r.free, id)
	}
}

// follow looks what has become of a job that waits.
func (r *edgeRule) follow(c *change, j *job) {
	record, err := r.e.Get(r.e.w.ctx, "", j.ID)
	must("Get", err)
	left := map[store.ID]store.FailurePolicy{}
	for _, p := range record.Predecessors {
		left[p.On] = p.IfFailed
	}
	cancels := false
	for on, policy := range r.waits[j.ID] {
		state := r.e.jobs[on].State
		unmet := state.Finished() && !policy.Lets(state)
		cancels = cancels || unmet && policy != store.HoldIfFailed
		now, waits := left[on]
		switch {
		case waits && now != policy:
			play.Brokenf("Edges", "%v comes after %s with the policy %v, and should with %v", j, short(on), now, policy)
		case waits || r.free[j.ID] || j.State.Finished():
		case !policy.Lets(state):
			play.Brokenf("Edges", "%v no longer waits for %s, which is %v, by the policy %v", j, short(on), state, policy)
		}
	}
	for on := range left {
		if _, known := r.waits[j.ID][on]; !known {
			play.Brokenf("Edges", "%v comes after %s, and should not", j, short(on))
		}
	}
	switch ended := c.op == "CloseChildren" && c.was[j.ID] != nil && !c.was[j.ID].State.Finished() && j.State.Finished(); {
	case ended && (!cancels || j.State != store.Cancelled):
		play.Brokenf("Edges", "%v is %v, and came after %v", j, j.State, r.waits[j.ID])
	case j.State.Finished() || r.free[j.ID]:
		delete(r.waits, j.ID)
	case len(left) == 0 && j.depends():
		play.Brokenf("Edges", "%v is held, and comes after no job", j)
	case len(left) > 0 && !j.depends():
		play.Brokenf("Edges", "%v is %v, and comes after %v", j, j.State, left)
	case len(left) == 0:
		delete(r.waits, j.ID)
	default:
		r.waits[j.ID] = left
	}
}

// told looks that no job waits for one that has ended, but for a person.
func (r *edgeRule) told(when string) {
	for id, on := range r.waits {
		if r.free[id] {
			continue
		}
		for before, policy := range on {
			if state := r.e.jobs[before].State; state.Finished() && (policy.Lets(state) || policy != store.HoldIfFailed) {
				play.Brokenf("Edges", "%s, and %s waits for %s, which is %v, by the policy %v", when, short(id), short(before), state, policy)
			}
		}
	}
}

func (r *edgeRule) end() { r.told("all is over") }

func compareIDs(a, b store.ID) int { return bytes.Compare(a[:], b[:]) }
