package workers

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Limits hold exactly as they do for nodes: jobs that count are claimed only if the worker holds
// slots for them, and permits. Nodes keep an account of that in memory. For a worker there is none:
// each claim asks for slots beyond what its runs take, as the store tells these, claims, and says
// then what it keeps. Only if the store answers that, and so no later call of the worker has come
// between, are the jobs handed out; else they are given back, and none of them has run.

const (
	// passes bounds how often one poll claims in a row, where classes of jobs share a limit.
	passes = 8
	// wantedEvery is how often a worker says that it lacks slots.
	wantedEvery = 4 * time.Second
	// soon is when a claim is tried again that limits have kept from being made.
	soon = 20 * time.Millisecond
	// full is when it is tried again while there are no slots, if they are not heard to be free.
	full = 2 * time.Second
)

// bounds are the limits of one claim.
type bounds struct {
	limits []store.Limit
	used   []int // slots that runs take
	slots  []int // that the worker holds
	permit []permits
}

// permits are those of the rate of one limit; without a rate there are any number.
type permits struct {
	store.Permits

	rated bool
	asked time.Time // before the call
	at    time.Time // after it
	left  int
}

// claimWithin claims jobs within limits.
func (p *poll) claimWithin(ctx context.Context, bound []store.Limit) (jobs []store.Claimed, again time.Duration, err error) {
	busy, err := p.engine.Store.Busy(ctx, p.worker.Namespace)
	if err != nil {
		return nil, 0, err
	}
	used, err := p.usage(ctx, bound)
	if err != nil {
		return nil, 0, err
	}
	classes := p.worker.classes(bound, busy)
	if len(classes) == 0 {
		return nil, 0, p.giveBackOf(ctx, bound, used)
	}
	rand.Shuffle(len(classes), func(i, k int) { classes[i], classes[k] = classes[k], classes[i] })
	b := &bounds{limits: bound, used: used}
	var all bool
	if b.slots, all, err = p.grant(ctx, bound, used, p.more(classes, len(bound))); err != nil || !all {
		return nil, soon, err
	}
	if again, err = p.takePermits(ctx, b, classes); err != nil {
		return nil, 0, err
	}
	jobs, err = p.claimClasses(ctx, b, classes)
	if backErr := p.permitsBack(ctx, b); err == nil {
		err = backErr
	}
	if err != nil {
		return nil, 0, err // the poll is repeated, and finds what was claimed
	}
	lacks := len(jobs) == 0 && p.lacks(b, classes)
	more := make([]int, len(bound))
	if p.wished = false; lacks {
		more = p.wishes(bound, classes)
	}
	kept, err := p.settleSlots(ctx, b, jobs, more)
	switch {
	case err != nil:
		return nil, 0, err
	case !kept && len(jobs) > 0:
		return nil, soon, p.putBack(ctx, jobs)
	case len(jobs) > 0:
		jobs, err = p.admit(ctx, jobs)
		return jobs, soon, err
	case lacks:
		return nil, full, nil
	}
	return nil, again, nil
}

// more is how many slots jobs may take of each limit.
func (p *poll) more(classes []*class, limits int) []int {
	more := make([]int, limits)
	for _, c := range classes {
		for i, weight := range c.weights[:limits] {
			more[i] = max(more[i], p.want*weight)
		}
	}
	return more
}

// room is what room there is for jobs: slots of each limit, and permits.
func (b *bounds) room() []int {
	n := len(b.limits)
	room := make([]int, 2*n)
	for i := range n {
		room[i], room[n+i] = max(b.slots[i]-b.used[i], 0), store.MaxCapacity
		if p := &b.permit[i]; p.rated {
			room[n+i] = p.usable()
		}
	}
	return room
}

// usable is how many permits may be used now.
func (p *permits) usable() int {
	n := 0
	for n < p.left && !p.at.Add(p.From(p.Count-p.left+n)).After(time.Now()) {
		n++
	}
	return n
}

// claimClasses claims as much as there is room for.
func (p *poll) claimClasses(ctx context.Context, b *bounds, classes []*class) (jobs []store.Claimed, err error) {
	for pass := 0; pass < passes && len(jobs) < p.want && p.next < p.end; pass++ {
		if divide(classes, p.want-len(jobs), b.room()) == 0 {
			break
		}
		taken, err := p.take(ctx, p.want-len(jobs), demands(classes))
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, taken...)
		for i := range taken {
			p.session.runs[taken[i].Lease] = place{taken[i].Job.Queue, taken[i].Job.Kind}
		}
		late := b.count(classes, taken)
		if len(late) > 0 { // they began after their permits had expired
			jobs = slices.DeleteFunc(jobs, func(c store.Claimed) bool { return slices.Contains(late, c.Lease) })
			if err := p.putBack(ctx, slices.DeleteFunc(taken, func(c store.Claimed) bool { return !slices.Contains(late, c.Lease) })); err != nil {
				return nil, err
			}
			break
		}
	}
	return jobs, nil
}

// count notes what was claimed, and which classes have no more. It returns those that came late.
func (b *bounds) count(classes []*class, taken []store.Claimed) (late []store.Lease) {
	list := demands(classes)
	got := make([]int, len(classes))
	now := time.Now()
	for i := range taken {
		j := &taken[i].Job
		expired := false
		for k := range b.limits {
			weight := b.limits[k].Weight(j.Queue, j.Kind)
			b.used[k] += weight
			if r := &b.permit[k]; r.rated && weight > 0 && r.left > 0 {
				expired = expired || now.After(r.asked.Add(r.Until(r.Count-r.left)))
				r.left--
			}
		}
		if expired {
			late = append(late, taken[i].Lease)
		}
		if at := store.DemandFor(list, j.Queue, j.ClaimKind()); at >= 0 {
			got[at]++
		}
	}
	for i, c := range classes {
		c.over = c.over || got[i] < c.Limit
	}
	return late
}

// takePermits takes permits of the rates. again is when there may be more; 0: nothing waits for it.
func (p *poll) takePermits(ctx context.Context, b *bounds, classes []*class) (again time.Duration, err error) {
	b.permit = make([]permits, len(b.limits))
	var asks []store.PermitAsk
	places := map[int64]int{}
	for i := range b.limits {
		if b.limits[i].Together() == nil {
			continue
		}
		b.permit[i].rated = true
		if slices.ContainsFunc(classes, func(c *class) bool { return c.weights[i] > 0 }) {
			places[b.limits[i].ID] = i
			asks = append(asks, store.PermitAsk{Limit: b.limits[i].ID, Version: b.limits[i].Version, Want: p.want})
		}
	}
	if len(asks) == 0 {
		return 0, nil
	}
	asked := time.Now()
	answer, err := p.engine.Store.TakePermits(ctx, asks)
	for _, a := range answer {
		at := &b.permit[places[a.Limit]]
		at.Permits, at.asked, at.at, at.left = a, asked, time.Now(), a.Count
		if a.Count < p.want && a.Period > 0 && a.Next < store.MostAhead {
			again = max(a.Next, soon)
		}
	}
	return again, err
}

// permitsBack gives back the permits that were not used.
func (p *poll) permitsBack(ctx context.Context, b *bounds) error {
	var asks []store.PermitAsk
	for i := range b.permit {
		if r := &b.permit[i]; r.left > 0 {
			asks = append(asks, store.PermitAsk{Limit: b.limits[i].ID, Version: b.limits[i].Version, Back: r.left, Move: r.Move})
		}
	}
	if len(asks) == 0 {
		return nil
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
	defer cancel()
	_, err := p.engine.Store.TakePermits(call, asks)
	return err
}

// wishes are how many more slots the worker goes on to want of fair limits while its poll waits: so
// others know that it has a part. What it gets meanwhile it uses with its next claim, or gives back
// when the poll ends.
func (p *poll) wishes(bound []store.Limit, classes []*class) []int {
	more := p.more(classes, len(bound))
	for i := range bound {
		if !bound[i].Fair {
			more[i] = 0
		}
		p.wished = p.wished || more[i] > 0
	}
	return more
}

// settleSlots keeps the slots that runs take now, and so many more, and gives back the others. It
// reports whether the store has answered that, so that what was claimed may run.
func (p *poll) settleSlots(ctx context.Context, b *bounds, jobs []store.Claimed, more []int) (kept bool, err error) {
	used, err := p.usage(ctx, b.limits)
	if err != nil {
		return false, err
	}
	_, all, err := p.grant(ctx, b.limits, used, more)
	if err != nil {
		return false, err
	}
	if all && !p.wished {
		p.tellFreed(b.limits, freed(p.worker, b.limits, used))
	}
	if len(jobs) == 0 {
		return all, nil
	}
	for i := range used { // another server may have claimed for the worker meanwhile
		all = all && (used[i] <= b.slots[i] || !counts(&b.limits[i], jobs))
	}
	return all, nil
}

// counts reports whether one of the jobs counts in a limit.
func counts(l *store.Limit, jobs []store.Claimed) bool {
	return slices.ContainsFunc(jobs, func(c store.Claimed) bool { return l.Weight(c.Job.Queue, c.Job.Kind) > 0 })
}

// putBack gives back jobs that were claimed and not handed out, and what slots they took.
func (p *poll) putBack(ctx context.Context, jobs []store.Claimed) error {
	units := make([]*store.Unit, len(jobs))
	for i := range jobs {
		o := jobs[i].Outcome(store.Available)
		o.Reason, o.KeepsPlace = store.ReasonReleased, true
		units[i] = &store.Unit{Outcome: o}
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
	defer cancel()
	_, err := p.engine.Settle(call, units)
	return err
}

// lacks reports whether the slots of a limit keep jobs from being claimed, and tells others so.
func (p *poll) lacks(b *bounds, classes []*class) (lacks bool) {
	tell := time.Since(p.session.wantedAt) >= wantedEvery
	for i := range b.limits {
		lacking := slices.ContainsFunc(classes, func(c *class) bool { return c.weights[i] > b.slots[i]-b.used[i] })
		if !lacking {
			continue
		}
		lacks = true
		if tell {
			p.session.wantedAt = time.Now()
			p.engine.Tell(store.Wake{Kind: store.WakeSlotsWanted, Namespace: p.worker.Namespace, Queue: b.limits[i].Name})
		}
	}
	return lacks
}
