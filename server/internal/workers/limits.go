package workers

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// limitCache is which workers limits concern. That none does is looked up again each second; the
// limits themselves are read for each claim.
type limitCache struct {
	store store.Store

	mu      sync.Mutex
	seen    map[string]time.Time // by what a worker serves: when it was seen that no limit concerns it
	changes int                  // how often limits have changed
}

const noneKept = time.Second

// of are the limits in which jobs of the worker may count.
func (l *limitCache) of(ctx context.Context, w *worker) (bound []store.Limit, err error) {
	if l.none(w, noneKept) {
		return nil, nil
	}
	l.mu.Lock()
	changes := l.changes
	l.mu.Unlock()
	all, err := l.store.Limits(ctx, w.Namespace, "")
	if err != nil {
		return nil, err
	}
	for i := range all {
		if w.countsIn(&all[i]) {
			bound = append(bound, all[i])
		}
	}
	if len(bound) > 0 {
		return bound, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil || len(l.seen) > 10_000 { // of workers that are gone
		l.seen = map[string]time.Time{}
	}
	if l.changes == changes {
		l.seen[w.serves] = time.Now()
	}
	return nil, nil
}

// none reports whether it was seen in the last so long that no limit concerns the worker, and
// nothing was heard of a change since.
func (l *limitCache) none(w *worker, within time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen, known := l.seen[w.serves]
	return known && time.Since(seen) < within
}

// changed is called when a limit has changed.
func (l *limitCache) changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changes++
	clear(l.seen)
}

// mayStart reports whether jobs may start on a worker without a claim: nothing is known of limits
// in which they would count.
func (s *service) mayStart(w *worker) bool { return s.limits.none(w, s.every()) }

// every is how often polls look without a wake-up.
func (s *service) every() time.Duration {
	if s.engine.Store.Traits().Wakeups {
		return idlePoll
	}
	return blindPoll
}

// countsIn reports whether jobs that the worker claims may count in a limit. Claims see to limits
// per key.
func (w *worker) countsIn(l *store.Limit) bool {
	if l.PerKey || l.NoJobs {
		return false
	}
	queues := len(l.Queues) == 0 || slices.ContainsFunc(l.Queues, func(q string) bool {
		_, serves := store.ServedAs(w.Queues, q)
		return serves
	})
	return queues && (len(l.Kinds) == 0 || slices.ContainsFunc(w.Kinds, func(k string) bool { return l.Kinds[plain(k)] > 0 }))
}

// plain is a kind without its version.
func plain(kind string) string {
	name, _, _ := strings.Cut(kind, "@")
	return name
}

// class is jobs that limits do not tell apart, of which there are some to claim.
type class struct {
	store.QueueDemand

	// weights are how much room a job takes: slots of the limits that concern the worker, and then
	// permits of these, one each; 0: it does not count.
	weights []int
	over    bool // there are no more
}

// classes are those that the worker may claim now.
func (w *worker) classes(bound []store.Limit, busy []store.BusyQueue) (classes []*class) {
	byQueue, byKind := len(w.Queues) > 0, false
	for i := range bound {
		byQueue, byKind = byQueue || len(bound[i].Queues) > 0, byKind || len(bound[i].Kinds) > 0
	}
	seen := map[store.QueueDemand]bool{}
	for _, b := range busy {
		if !w.has(b.Name, b.Kind) {
			continue
		}
		c := &class{weights: make([]int, 2*len(bound))}
		if byQueue {
			c.Name = b.Name
		}
		if byKind {
			c.Kind = b.Kind
		}
		if seen[c.QueueDemand] {
			continue
		}
		seen[c.QueueDemand] = true
		for i := range bound {
			c.weights[i] = bound[i].Weight(b.Name, plain(b.Kind))
			c.weights[len(bound)+i] = min(c.weights[i], 1)
		}
		classes = append(classes, c)
	}
	return classes
}

// divide says how many jobs of each class are claimed next, so that there is room for them
// whichever there are: the first may take all of it. It returns how many that is in all.
func divide(classes []*class, want int, room []int) (total int) {
	left := slices.Clone(room)
	for _, c := range classes {
		c.Limit = 0
		if c.over {
			continue
		}
		n := want
		for i, weight := range c.weights {
			if weight > 0 {
				n = min(n, left[i]/weight)
			}
		}
		n = max(n, 0)
		for i, weight := range c.weights {
			if weight > 0 {
				left[i] -= n * weight
			}
		}
		c.Limit = n
		total += n
	}
	return total
}

// demands are those of a claim.
func demands(classes []*class) []store.QueueDemand {
	list := make([]store.QueueDemand, 0, len(classes))
	for _, c := range classes {
		list = append(list, c.QueueDemand)
	}
	return list
}

// usage is how many slots of limits the runs take that the worker holds.
func (p *poll) usage(ctx context.Context, bound []store.Limit) ([]int, error) {
	held, err := p.beat(ctx, p.session.held.ask(nil))
	if err != nil {
		return nil, err
	}
	p.session.held.learn(held)
	var unknown []*run // claimed through other servers
	for _, l := range held {
		if _, known := p.session.runs[l]; !known {
			unknown = append(unknown, &run{Lease: l, Namespace: p.worker.Namespace})
		}
	}
	jobs, err := p.records(ctx, unknown)
	if err != nil {
		return nil, err
	}
	used := make([]int, len(bound))
	live := make(map[store.Lease]bool, len(held))
	for _, l := range held {
		live[l] = true
		at, known := p.session.runs[l]
		if !known {
			now := jobs.of(l)
			if now == nil {
				continue // it has ended meanwhile
			}
			at = place{now.Queue, now.Kind}
			p.session.runs[l] = at
		}
		for i := range bound {
			used[i] += bound[i].Weight(at.queue, at.kind)
		}
	}
	maps.DeleteFunc(p.session.runs, func(l store.Lease, _ place) bool { return !live[l] })
	return used, nil
}

// grant asks for slots of limits: what is kept, and so many more. It returns how many the worker
// holds then, and whether all limits have answered: none has that was changed meanwhile, or if a
// later poll of the worker has asked.
func (p *poll) grant(ctx context.Context, bound []store.Limit, keep, more []int) (slots []int, all bool, err error) {
	params := store.GrantParams{Node: p.worker.Node, Call: p.call}
	p.call++
	slots = make([]int, len(bound))
	places := map[int64]int{}
	for i := range bound {
		if bound[i].Uncapped {
			slots[i] = store.MaxCapacity
			continue
		}
		places[bound[i].ID] = i
		params.Asks = append(params.Asks, store.LimitAsk{
			Limit: bound[i].ID, Version: bound[i].Version, Keep: keep[i], Want: keep[i] + more[i],
		})
	}
	if len(params.Asks) == 0 {
		return slots, true, nil
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
	defer cancel()
	granted, err := p.engine.Store.Grant(call, params)
	for _, g := range granted {
		slots[places[g.Limit]] = g.Slots
	}
	return slots, err == nil && len(granted) == len(params.Asks), err
}

// holds is how many slots of a limit the store says that a worker holds.
func (w *worker) holds(l *store.Limit) int {
	for _, h := range l.Holders {
		if h.Node == w.Node {
			return h.Slots
		}
	}
	return 0
}

// fence makes calls of another server for the same worker void that may be on their way still: the
// worker holds no fewer slots then.
func (p *poll) fence(ctx context.Context) error {
	bound, err := p.limits.of(ctx, p.worker)
	if err != nil || len(bound) == 0 {
		return err
	}
	used, err := p.usage(ctx, bound)
	if err != nil {
		return err
	}
	all := make([]int, len(bound))
	for i := range bound {
		all[i] = bound[i].Capacity
	}
	_, _, err = p.grant(ctx, bound, used, all)
	p.wished = true // it gives back what it does not use
	return err
}

// giveBack gives back slots that no run takes any more.
func (p *poll) giveBack(ctx context.Context) error {
	bound, err := p.limits.of(ctx, p.worker)
	if err != nil || !slices.ContainsFunc(bound, func(l store.Limit) bool { return p.worker.holds(&l) > 0 }) {
		return err
	}
	used, err := p.usage(ctx, bound)
	if err != nil {
		return err
	}
	return p.giveBackOf(ctx, bound, used)
}

// giveBackBetween gives back slots of limits that the runs of a worker have left which beats, and
// does not poll: it has no free slots of its own, or is to stop. What polls have said before counts
// no more then. A server that has answered no poll of the worker leaves it to the one that has.
func (s *service) giveBackBetween(ctx context.Context, w *worker, session *session) error {
	end := session.tryTake()
	if end == nil {
		return nil // a poll that waits sees to it
	}
	defer end()
	if !session.clean || session.last == 0 {
		return nil
	}
	p := &poll{service: s, worker: w, session: session, seq: session.last, call: later(session.last)}
	return p.giveBack(ctx)
}

func (p *poll) giveBackOf(ctx context.Context, bound []store.Limit, used []int) error {
	if !slices.ContainsFunc(freed(p.worker, bound, used), func(n int) bool { return n > 0 }) {
		return nil
	}
	_, all, err := p.grant(ctx, bound, used, make([]int, len(bound)))
	if all {
		p.tellFreed(bound, freed(p.worker, bound, used))
	}
	return err
}

// freed is how many slots are given back of those that the worker held when the limits were read.
func freed(w *worker, bound []store.Limit, used []int) []int {
	free := make([]int, len(bound))
	for i := range bound {
		free[i] = w.holds(&bound[i]) - used[i]
	}
	return free
}

func (p *poll) tellFreed(bound []store.Limit, free []int) {
	for i := range bound {
		if free[i] > 0 {
			p.engine.Tell(store.Wake{Kind: store.WakeSlotsFree, Namespace: p.worker.Namespace, Queue: bound[i].Name})
		}
	}
}
