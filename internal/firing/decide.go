package firing

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

const (
	// Grace is how late a nominal time may be acted on and is not missed. It is longer than it
	// takes to replace a leader that has died.
	Grace = time.Minute
	// Most is how many jobs one decision enqueues. What is due beyond that is decided next.
	Most = 500
	// Listed is how many of the times that a decision leaves out are listed: the last ones.
	Listed = 100
)

// Decision is what is to be done about a schedule.
type Decision struct {
	// Stop is a job that is to be asked to stop before the unit is written, and Terminate how;
	// zero: none. A job that has ended, or is gone, has stopped.
	Stop      store.ID
	Terminate bool
	// Unit is the fire, with its enqueues.
	Unit store.Unit
	// Missed is how many nominal times were missed and do not fire, as far as they are listed.
	Missed int
}

// Decide decides what a schedule does at a time; one that is paused, or may fire no more, only has
// the job asked to stop that it has replaced. taken are nominal times that have a run although they
// are after the cursor: a clock that was ahead has made them, before a person set the schedule
// back. They are passed over.
func Decide(s *store.Schedule, now time.Time, taken ...time.Time) (Decision, error) {
	times, err := timesOf(s)
	if err != nil {
		return Decision{}, err
	}
	p := pass{schedule: s, times: times, now: now, taken: taken, fire: &store.Fire{
		Namespace: s.Namespace, Name: s.Name, Version: s.Version, Cursor: s.Cursor, Left: s.Left,
	}}
	if s.PausedAt.IsZero() && s.Left != 0 {
		p.leaveOut()
		p.act()
	}
	p.goOn()
	d := Decision{Unit: store.Unit{Fire: p.fire, Enqueues: p.enqueues}, Missed: p.missed}
	if s.Cancels != (store.ID{}) {
		d.Stop, d.Terminate = s.Cancels, s.Overlap == store.OverlapTerminate
	}
	return d, nil
}

// IsEmpty reports whether the decision changes nothing about the schedule: nothing was due yet.
func (d *Decision) IsEmpty(s *store.Schedule) bool {
	f := d.Unit.Fire
	return len(f.Runs) == 0 && f.NextAt.Equal(s.NextAt) && f.Cancels == s.Cancels
}

// Postpone is the decision to look at a schedule again at a time, and to leave it as it is.
func Postpone(s *store.Schedule, until time.Time) Decision {
	return Decision{Unit: store.Unit{Fire: &store.Fire{
		Namespace: s.Namespace, Name: s.Name, Version: s.Version, Cursor: s.Cursor, Left: s.Left, Cancels: s.Cancels, NextAt: until,
	}}}
}

// pass is a decision in the making.
type pass struct {
	schedule *store.Schedule
	times    times
	now      time.Time
	taken    []time.Time

	fire     *store.Fire
	enqueues []*store.Enqueue
	missed   int
	late     time.Time // the last time that was missed; zero: none
}

// leaveOut decides about the times that were missed and will not be made up for. Those that are not
// listed were before the ones that are; there may be millions.
func (p *pass) leaveOut() {
	until := p.now.Add(-Grace - p.schedule.Jitter)
	if p.schedule.Missed == store.MissedCatchUp {
		until = p.now.Add(-max(p.schedule.Window, Grace+p.schedule.Jitter))
	}
	if !until.After(p.fire.Cursor) {
		return
	}
	missed := p.times.last(p.fire.Cursor, until, Listed)
	if len(missed) == 0 {
		return
	}
	p.fire.Cursor = missed[len(missed)-1]
	for _, at := range missed {
		if !p.isTaken(at) {
			p.late = at
			p.missed++
			p.fire.Runs = append(p.fire.Runs, store.FireRun{Nominal: at, State: store.RunMissed})
		}
	}
}

func (p *pass) isTaken(at time.Time) bool { return slices.ContainsFunc(p.taken, at.Equal) }

// act decides about the times that are due, in their order. If none is, and times were missed, the
// last of these fires, where that is the policy.
func (p *pass) act() {
	var all []time.Time
	for at, ok := p.times.next(p.fire.Cursor); ok && len(all) < Most && !due(p.schedule, at).After(p.now); at, ok = p.times.next(at) {
		if p.isTaken(at) {
			p.fire.Cursor = at
		} else {
			all = append(all, at)
		}
	}
	if len(all) == 0 && !p.late.IsZero() && p.schedule.Missed == store.MissedCoalesce {
		p.fire.Runs = p.fire.Runs[:len(p.fire.Runs)-1]
		p.missed--
		all = []time.Time{p.late}
	}
	if n := p.fire.Left; n >= 0 && int64(len(all)) > n {
		all = all[:n]
	}
	for i, at := range all {
		p.fire.Cursor = later(p.fire.Cursor, at)
		if !p.fires(i, len(all)) {
			p.fire.Runs = append(p.fire.Runs, store.FireRun{Nominal: at, State: store.RunSkipped})
			continue
		}
		q := enqueue(p.schedule, at, p.schedule.Overlap)
		p.enqueues = append(p.enqueues, q)
		p.fire.Runs = append(p.fire.Runs, store.FireRun{Nominal: at, State: store.RunFired, Enqueue: q})
		if p.fire.Left > 0 {
			p.fire.Left--
		}
	}
	if len(p.enqueues) > 0 && replaces(p.schedule.Overlap) {
		p.fire.Cancels = p.schedule.Last
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// fires reports whether the i-th of n times that are due at once gets a job. Where one job excludes
// the next, or replaces the one before, it needs no attempt to see what becomes of the others.
func (p *pass) fires(i, n int) bool {
	switch p.schedule.Overlap {
	case store.OverlapSkip:
		return i == 0
	case store.OverlapCancel, store.OverlapTerminate:
		return i == n-1
	default:
		return true
	}
}

// goOn decides when the schedule is looked at next.
func (p *pass) goOn() {
	if p.fire.Cancels != (store.ID{}) {
		p.fire.NextAt = p.now // the job that was replaced is asked to stop when it is certain that it was
		return
	}
	p.fire.NextAt = next(p.schedule, p.times, p.fire.Cursor, p.fire.Left)
}

// next is when a schedule acts that has been decided up to a time; zero: never again.
func next(s *store.Schedule, t times, cursor time.Time, left int64) time.Time {
	at, ok := t.next(cursor)
	if !ok || left == 0 {
		return time.Time{}
	}
	return due(s, at)
}
