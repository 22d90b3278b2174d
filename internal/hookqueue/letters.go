package hookqueue

import (
	"context"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/hooks"
	"github.com/holdfastdev/holdfast/store"
)

const (
	// knownFor is how long a group of dead letters counts as known after its last failure here.
	knownFor = 10 * time.Minute
	// mostKnown is how many groups are known at the most.
	mostKnown = 10_000
	// together is how long after the first failure of a group another one may still be told as new:
	// events carry the time at which they were noted, and not that of the failure.
	together = 5 * time.Second
)

// group names a group of dead letters.
type group struct {
	namespace, kind string
	fingerprint     int64
}

// known are the groups that have grown lately. The goroutine that tells hooks has it for itself.
type known map[group]time.Time

// letter tells of a job that has failed for good, if it turns out that it has.
func (q *Queue) letter(state store.State, read func() hooks.Finished) {
	if state != store.Failed || !wants(q, letterOf) {
		return
	}
	letter := sync.OnceValue(func() (l hooks.DeadLetter) {
		l.Finished = read()
		l.New = l.State == store.Failed && q.isNew(group{l.Namespace, l.Kind, l.Fingerprint}, l.At)
		return l
	})
	q.add(func(h *hooks.Hooks) {
		if h.DeadLetter == nil {
			return
		}
		if l := letter(); l.State == store.Failed {
			h.DeadLetter(l)
		}
	})
}

// isNew reports whether a group has begun with the failure of the given time, and notes that it has
// grown.
func (q *Queue) isNew(g group, at time.Time) bool {
	before, knew := q.known[g]
	if !knew && len(q.known) >= mostKnown {
		clear(q.known)
	}
	q.known[g] = at
	if knew && at.Sub(before) < knownFor || g.kind == "" {
		return false
	}
	first, ok := q.firstOf(g)
	return ok && !first.Before(at.Add(-together))
}

// firstOf asks when the first job of a group failed.
func (q *Queue) firstOf(g group) (first time.Time, ok bool) {
	q.reading.RLock()
	defer q.reading.RUnlock()
	if q.life.Err() != nil {
		return first, false
	}
	ctx, stop := context.WithTimeout(q.life, readTimeout)
	defer stop()
	page, err := q.store.DeadGroups(ctx, store.DeadParams{
		Filter: store.Filter{Namespace: g.namespace, Kinds: []string{g.kind}, Fingerprints: []int64{g.fingerprint}}, Limit: 1, Most: 1,
	})
	if err != nil || len(page.Groups) == 0 {
		return first, false // it runs again already, or the database does not answer
	}
	return page.Groups[0].FirstSeen, true
}
