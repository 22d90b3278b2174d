package hookqueue

import (
	"context"
	"maps"
	"slices"
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
	// asksAbout is about how many dead letters the store is asked at once.
	asksAbout = 1000
)

// group names a group of dead letters.
type group struct {
	namespace, kind string
	fingerprint     int64
}

// known are the groups that have grown lately. The goroutine that asks for letters has it for
// itself.
type known map[group]time.Time

// letter tells of a job that has failed for good, if it turns out that it has.
func (q *Queue) letter(state store.State, read func() hooks.Finished) {
	if state != store.Failed || !wants(q, letterOf) {
		return
	}
	select {
	case q.letters <- read:
	default:
		q.drop()
	}
}

// beginToAsk begins to ask the store, if a hook wants letters.
func (q *Queue) beginToAsk() {
	if !wants(q, letterOf) {
		close(q.asked)
		return
	}
	q.letters = make(chan func() hooks.Finished, hooks.QueueSize)
	go q.ask()
}

// ask asks the store about letters until the queue is closed, and adds the events. It is apart from
// the goroutine that tells, for no event but these is to wait for the store. While one question is
// answered others wait, and are asked as one: so it keeps up with any number of groups.
func (q *Queue) ask() {
	defer close(q.asked)
	for {
		select {
		case read := <-q.letters:
			q.call(func() { q.deliver(q.andMore(read)) })
		case <-q.stop:
			for q.life.Err() == nil && len(q.letters) > 0 {
				q.call(func() { q.deliver(q.andMore(<-q.letters)) })
			}
			return
		}
	}
}

// andMore is a letter, and those that wait with it.
func (q *Queue) andMore(read func() hooks.Finished) (letters []*hooks.DeadLetter) {
	for {
		if e := read(); e.State == store.Failed {
			letters = append(letters, &hooks.DeadLetter{Finished: e})
		}
		if len(letters) >= asksAbout {
			return letters
		}
		select {
		case read = <-q.letters:
		default:
			return letters
		}
	}
}

// deliver adds letters to the events. It waits for room, as those who have put them do not.
func (q *Queue) deliver(letters []*hooks.DeadLetter) {
	q.findNew(letters)
	for _, l := range letters {
		tell := func(h *hooks.Hooks) {
			if h.DeadLetter != nil {
				h.DeadLetter(*l)
			}
		}
		select {
		case q.events <- tell:
		case <-q.life.Done():
			q.dropped.Add(1)
		}
	}
}

// findNew sets which letters are the first of their groups, and notes that all of these have grown.
func (q *Queue) findNew(letters []*hooks.DeadLetter) {
	maybe := map[string]map[group]*hooks.DeadLetter{}
	for _, l := range letters {
		g := group{l.Namespace, l.Kind, l.Fingerprint}
		before, knew := q.known[g]
		if !knew && len(q.known) >= mostKnown {
			clear(q.known)
		}
		q.known[g] = l.At
		if knew && l.At.Sub(before) < knownFor || g.kind == "" {
			continue
		}
		if maybe[g.namespace] == nil {
			maybe[g.namespace] = map[group]*hooks.DeadLetter{}
		}
		if maybe[g.namespace][g] == nil {
			maybe[g.namespace][g] = l
		}
	}
	for namespace, groups := range maybe {
		for g, first := range q.firstOf(namespace, groups) {
			if l := groups[g]; l != nil {
				l.New = !first.Before(l.At.Add(-together))
			}
		}
	}
}

// firstOf asks when the first jobs of groups of a namespace failed. It lacks those that run again
// already, and all if the database does not answer.
func (q *Queue) firstOf(namespace string, groups map[group]*hooks.DeadLetter) map[group]time.Time {
	kinds, fingerprints := map[string]bool{}, map[int64]bool{}
	for g := range groups {
		kinds[g.kind], fingerprints[g.fingerprint] = true, true
	}
	params := store.DeadParams{Limit: 1000, Most: 1, Filter: store.Filter{
		Namespace: namespace, Kinds: slices.Sorted(maps.Keys(kinds)), Fingerprints: slices.Sorted(maps.Keys(fingerprints)),
	}}
	q.reading.RLock()
	defer q.reading.RUnlock()
	ctx, stop := context.WithTimeout(q.life, readTimeout)
	defer stop()
	firsts := map[group]time.Time{}
	for ctx.Err() == nil {
		page, err := q.store.DeadGroups(ctx, params)
		if err != nil {
			break
		}
		for i := range page.Groups {
			firsts[group{namespace, page.Groups[i].Kind, page.Groups[i].Fingerprint}] = page.Groups[i].FirstSeen
		}
		if params.After = page.Next; page.Next == "" {
			break
		}
	}
	return firsts
}
