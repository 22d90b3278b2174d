package simulate

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// ending is how a run ends, whatever ends it.
type ending struct {
	state   store.State // that is asked for
	runAt   time.Time
	result  []byte
	wait    *store.Wait
	anew    *store.Continue
	version string

	durable     bool // the job is given the chance to end itself
	seen        bool // it had that chance
	contradicts bool // its code does not fit its journal
	counted     bool
	mayHave     bool // children
}

// goal is where a job goes.
type goal struct {
	state store.State
	runAt time.Time
	held  bool // once a person lets it go on
}

// goal says where a job goes, in the words of store.Outcome. It is written down a second time on
// purpose: the stores share the first.
func (l *ledger) goal(j *job, e *ending) goal {
	g := goal{state: e.state, runAt: e.runAt}
	if e.state.Finished() {
		return g
	}
	deadline := j.body.Options.Deadline
	late := (e.state == store.Retryable || e.state == store.Scheduled) && !deadline.IsZero() && !e.runAt.Before(deadline) && !j.body.Closing
	switch {
	case j.cancel && !j.body.Closing && !e.durable:
		return goal{state: store.Cancelled}
	case j.cancel && !j.body.Closing && !e.seen && !e.contradicts:
		if e.state == store.Available {
			return g
		}
		return goal{state: store.Available, runAt: l.now}
	case j.cancel: // it ends as it says
	case late && !e.durable:
		return goal{state: store.Failed}
	default:
		if late {
			g.runAt = deadline
		}
		if j.pause && (e.wait == nil || !e.wait.Held) {
			g.held = true
			if g.state == store.Waiting {
				g.state, g.runAt = store.Available, l.now
			}
		}
	}
	if g.state == store.Waiting && j.arrived(e.wait) {
		g.state, g.runAt = store.Available, l.now
	}
	return g
}

// end ends a run, and returns the state in which its job is then, and when it is due.
func (l *ledger) end(j *job, e *ending) (state store.State, due time.Time) {
	g := l.goal(j, e)
	leavesAttempt := e.state != store.Waiting && e.anew == nil
	if e.anew != nil {
		j.beginAnew(e.anew)
	}
	if g.state != store.Completed && (leavesAttempt || g.state.Finished()) {
		j.recorded++
	}
	if g.state.Finished() {
		if e.mayHave {
			l.orphan[j.body.ID] = true
		}
		l.finish(j, g.state, e.result)
		return g.state, time.Time{}
	}
	j.lease = store.Lease{}
	if !e.counted && e.anew == nil {
		j.body.Attempt--
	}
	if e.version != "" {
		j.body.Version = e.version
	}
	j.pause = false
	switch {
	case g.held:
		l.hold(j, g.state, g.runAt)
		return store.Waiting, time.Time{}
	case g.state == store.Waiting:
		l.park(j, e.wait)
		return store.Waiting, j.wait.due
	}
	j.body.RunAt = g.runAt
	l.enter(j, g.state)
	if g.state == store.Available {
		return g.state, time.Time{}
	}
	return g.state, g.runAt
}

// endingOf reads an outcome.
func (l *ledger) endingOf(o *store.Outcome) *ending {
	e := &ending{
		state: o.State, result: o.Result, wait: o.Wait, anew: o.Continue, version: o.Version, durable: o.Durable || o.Continue != nil,
		seen: o.CancelSeen, counted: o.State == store.Retryable, mayHave: o.HasChildren,
		contradicts: o.Wait != nil && o.Wait.Held && o.Reason == store.ReasonNondeterminism,
	}
	switch o.State {
	case store.Available, store.Waiting:
		if e.runAt = l.now; o.KeepsPlace {
			e.runAt = l.jobs[o.Lease.Job].body.RunAt
		}
	case store.Retryable, store.Scheduled:
		if e.runAt = o.RunAt; o.RunAt.IsZero() {
			e.runAt = l.now.Add(o.Delay)
		}
		e.runAt = e.runAt.Truncate(time.Microsecond)
	default:
	}
	return e
}

// lost is how a run ends whose node is dead, by what its node promised.
func (l *ledger) lost(j *job) *ending {
	e := &ending{state: store.Failed, durable: j.durable(), seen: true, counted: !j.hasGrown(), mayHave: true}
	body := j.body
	if !e.counted {
		body.Attempt--
	}
	delay, retry := l.nodes[j.lease.Node].info.Policies[j.body.Kind].Lost(&body)
	if retry || j.cancel && !j.durable() {
		e.state, e.runAt = store.Retryable, l.now.Add(delay).Truncate(time.Microsecond)
	}
	return e
}

// released is how a run ends whose node leaves.
func (l *ledger) released(j *job) *ending {
	return &ending{state: store.Available, runAt: l.now, durable: j.durable(), mayHave: true}
}
