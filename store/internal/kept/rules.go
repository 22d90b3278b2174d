// Package kept decides how long finished jobs are kept where queues name classes of retention, and
// remembers how far a store has looked for those whose time is over. Both databases use it. It
// imports store only, and keeps nothing in the database.
package kept

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Rules say how long the finished jobs of each queue are kept.
type Rules struct {
	base store.Retention
	own  map[int64]store.Retention // of queues that name a class
	mark uint64
}

// New returns the rules of a database: its retention, its classes, and what is set of its queues,
// as stores keep it, by their ids. What cannot be read, since a later program has written it, or
// names a class that is not there, is not set.
func New(base store.Retention, classes []store.RetentionClass, set map[int64]string) *Rules {
	r := &Rules{base: base, own: map[int64]store.Retention{}}
	of := map[string]*store.RetentionClass{}
	for i := range classes {
		of[classes[i].Name] = &classes[i]
	}
	for queue, text := range set {
		q, err := store.DecodeQueueAttempts(text)
		if c := of[q.Retention]; err == nil && c != nil {
			r.own[queue] = c.In(base)
		}
	}
	h := fnv.New64a()
	fmt.Fprint(h, base.Completed, base.Failed, base.Cancelled)
	for _, queue := range r.Queues() {
		own := r.own[queue]
		fmt.Fprint(h, " ", queue, own.Completed, own.Failed, own.Cancelled)
	}
	r.mark = h.Sum64()
	return r
}

// Queues are those that name a class, in the order of their ids.
func (r *Rules) Queues() []int64 {
	all := make([]int64, 0, len(r.own))
	for queue := range r.own {
		all = append(all, queue)
	}
	slices.Sort(all)
	return all
}

// Mark tells rules from others.
func (r *Rules) Mark() uint64 { return r.mark }

// Of returns how long the jobs of a queue are kept that ended in a state; 0: for ever.
func (r *Rules) Of(queue int64, state store.State) time.Duration {
	if own, ok := r.own[queue]; ok {
		return own.Of(state)
	}
	return r.base.Of(state)
}

// Times are the times for which jobs that ended in a state are kept, the shortest first, without
// those for which any job is kept at most, all: what is that old goes, whatever its queue. all is
// 0 if some queue keeps them for ever.
func (r *Rules) Times(state store.State) (shorter []time.Duration, all time.Duration) {
	times, forever := []time.Duration{}, false
	add := func(d time.Duration) {
		if d <= 0 {
			forever = true
		} else {
			times = append(times, d)
		}
	}
	add(r.base.Of(state))
	for _, own := range r.own {
		add(own.Of(state))
	}
	slices.Sort(times)
	times = slices.Compact(times)
	if forever || len(times) == 0 {
		return times, 0
	}
	last := len(times) - 1
	return times[:last], times[last]
}

// Longest is the retention for which any job is kept at most.
func (r *Rules) Longest() store.Retention {
	longest := r.base
	_, longest.Completed = r.Times(store.Completed)
	_, longest.Failed = r.Times(store.Failed)
	_, longest.Cancelled = r.Times(store.Cancelled)
	return longest
}

// Builds is how long it is kept by which program a node has run.
func (r *Rules) Builds() time.Duration { return store.KeepBuilds(r.Longest()) }

// Shortest returns the shortest time for which anything is kept; 0: all is kept for ever.
func (r *Rules) Shortest() (d time.Duration) {
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		shorter, all := r.Times(state)
		for _, t := range append(shorter, all) {
			if t > 0 && (d == 0 || t < d) {
				d = t
			}
		}
	}
	return d
}
