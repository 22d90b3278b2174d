package backlog

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

const (
	every  = 250 * time.Millisecond // between two counts at the least
	share  = 20                     // a count takes at most one in so many moments
	rarely = 5 * time.Second        // but one that was slow, as in an outage, is of no use for longer
)

// How many jobs of limits are looked at to count those of keys, instead of the keys one by one: so
// many, or so many for each key.
const (
	fewAtLeast = 200
	fewOfKey   = 10
)

// waits are the states of the jobs that count.
var waits = []store.State{store.Available, store.Scheduled, store.Retryable}

// counting is what is counted in a space.
type counting struct {
	turn   chan struct{} // is full while one enqueue counts for all
	wanted map[place]int // places that enqueues need, by how many
	users  int
}

// refresh counts what is too old of what an enqueue needs, space by space. An enqueue in a caller's
// transaction goes by what is known if that takes long.
func (b *Bounds) refresh(ctx context.Context, needs []need) error {
	within := ctx
	if b.inTx(ctx) {
		short, cancel := context.WithTimeout(ctx, every)
		defer cancel()
		within = short
	}
	for len(needs) > 0 {
		n := 1
		for n < len(needs) && needs[n].space == needs[0].space {
			n++
		}
		err := b.recount(within, needs[0].space, needs[:n])
		if err != nil && within.Err() != nil && ctx.Err() == nil {
			return nil
		}
		if err != nil {
			return err
		}
		needs = needs[n:]
	}
	return nil
}

// recount counts in a space, unless all that is needed there was counted lately.
func (b *Bounds) recount(ctx context.Context, in space, needs []need) error {
	stale := b.stale(needs)
	if len(stale) == 0 {
		return nil
	}
	c := b.join(in, stale)
	defer b.part(in, c, stale)
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%w: gave up waiting for how many jobs wait in the queue %q: %w",
			store.ErrUnavailable, b.rules[in.rule].Queue, context.Cause(ctx))
	}
	defer func() { <-c.turn }()
	if len(b.stale(needs)) == 0 {
		return nil // another one has counted meanwhile
	}
	began := time.Now()
	places := b.begin(c)
	counts, err := b.count(ctx, in, places)
	b.end(places, counts, time.Since(began))
	return err
}

// stale are those of the places that have to be counted.
func (b *Bounds) stale(needs []need) (places []place) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range needs {
		if r := b.rooms[q.place]; r == nil || !now.Before(r.fresh) {
			places = append(places, q.place)
		}
	}
	return places
}

// join says that places are to be counted.
func (b *Bounds) join(in space, places []place) *counting {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.spaces[in]
	if c == nil {
		c = &counting{turn: make(chan struct{}, 1), wanted: map[place]int{}}
		b.spaces[in] = c
	}
	c.users++
	for _, at := range places {
		c.wanted[at]++
	}
	return c
}

// part takes back what join has said.
func (b *Bounds) part(in space, c *counting, places []place) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, at := range places {
		if c.wanted[at]--; c.wanted[at] == 0 {
			delete(c.wanted, at)
		}
	}
	if c.users--; c.users == 0 {
		delete(b.spaces, in)
	}
}

// begin begins a count of all places that are wanted and too old. It sees what was stored before,
// and perhaps of what is being stored.
func (b *Bounds) begin(c *counting) (places []place) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	for at := range c.wanted {
		if r := b.room(at); !now.Before(r.fresh) {
			r.next, r.busy = r.open, true
			places = append(places, at)
		}
	}
	return places
}

// end takes in a count; nil: it has failed.
func (b *Bounds) end(places []place, counts []int, took time.Duration) {
	fresh := time.Now().Add(max(every, min(share*took, rarely)))
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, at := range places {
		r := b.room(at)
		r.busy = false
		if counts != nil {
			r.counted, r.since, r.fresh = counts[i], r.next, fresh
		}
	}
}

// count counts the jobs that wait in places of a space, up to the bound.
func (b *Bounds) count(ctx context.Context, in space, places []place) ([]int, error) {
	rule := b.rules[in.rule]
	if rule.Keys {
		params := store.WaitingOfKeysParams{
			Namespace: in.namespace, Queue: rule.Queue, Most: rule.Most,
			Few: min(max(fewAtLeast, fewOfKey*len(places)), store.CountBound),
		}
		for _, at := range places {
			params.Keys = append(params.Keys, at.key)
		}
		return b.store.WaitingOfKeys(ctx, params)
	}
	n := 0
	params := store.CountParams{Filter: store.Filter{Namespace: in.namespace, Queues: []string{rule.Queue}, States: waits}}
	for {
		part, err := b.store.Count(ctx, params)
		if err != nil {
			return nil, err
		}
		if n += part.N; n >= rule.Most || part.Next == "" {
			return []int{n}, nil
		}
		params.After = part.Next
	}
}
