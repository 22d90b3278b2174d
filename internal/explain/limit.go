package explain

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/why"
)

// rate says when the next job may start by the rate of a limit, unless that is now.
func (w *finding) rate(l *store.Limit) {
	switch {
	case l.Rate == nil:
		return
	case l.Rate.Count == 0:
		w.add(why.Rate, "limit %s has a rate of 0: raise it with \"holdfast limit set\"", l.Name)
	case l.DrainedUntil.After(w.now):
		cause := w.add(why.Rate, "limit %s was drained until %s: its next permit comes in %s", l.Name,
			l.DrainedUntil.UTC().Format(time.RFC3339), w.left(l.NextAt))
		cause.Until = l.NextAt
	case l.NextAt.After(w.now):
		cause := w.add(why.Rate, "limit %s lets %s jobs start, %d at once: its next permit comes in %s",
			l.Name, l.Rate, l.Rate.Bursts(), w.left(l.NextAt))
		cause.Until = l.NextAt
	default:
		return
	}
	w.causes[len(w.causes)-1].Limit = l.Name
}

// limits says which limits have no slots for the job, and who holds them. Slots that nodes hold and
// do not use go to a node that wants them, so they keep no job from running, unless their node is
// silent.
func (w *finding) limits(ctx context.Context, s store.Store, limits []store.Limit) error {
	for i := range limits {
		l := &limits[i]
		weight := l.Weight(w.Queue, w.Kind)
		if weight == 0 {
			continue
		}
		w.rate(l)
		if l.Uncapped {
			continue
		}
		held, holders, silent := 0, []string{}, false
		for _, h := range l.Holders {
			if h.Slots > 0 {
				held += h.Slots
				holders = append(holders, fmt.Sprintf("%s holds %d", nodeName(h.Node, w.nodes), h.Slots))
				silent = silent || !w.lives(h.Node)
			}
		}
		if l.Capacity < weight {
			w.add(why.Limit, "limit %s has a capacity of %d, and the job takes %d: raise it with \"holdfast limit set\"",
				l.Name, l.Capacity, weight).Limit = l.Name
			continue
		}
		full := l.Capacity-held < weight
		if full && !silent {
			used, err := w.usedOf(ctx, s, l, l.Capacity-weight)
			if err != nil {
				return err
			}
			full = l.Capacity-used < weight
		}
		if full {
			w.add(why.Limit, "limit %s is full: %d of %d slots are held (%s), and the job takes %d",
				l.Name, held, l.Capacity, strings.Join(holders, ", "), weight).Limit = l.Name
		}
	}
	return nil
}

// lives reports whether a node does what it is asked for.
func (w *finding) lives(node int64) bool {
	at := slices.IndexFunc(w.nodes, func(n store.Node) bool { return n.ID == node })
	return at >= 0 && w.nodes[at].DeadAt.IsZero() && !w.nodes[at].IsSilent(w.now)
}

// mostCounted is how many jobs are counted that run under a limit. If that many do it is taken for
// full.
const mostCounted = 2000

// usedOf is how many slots of a limit are used by jobs that run, or more than most.
func (w *finding) usedOf(ctx context.Context, s store.Store, l *store.Limit, most int) (used int, err error) {
	filter := store.Filter{Namespace: w.Namespace, Queues: l.Queues, States: []store.State{store.Running}}
	filter.Kinds = slices.Collect(maps.Keys(l.Kinds))
	counted := 0
	for after := ""; ; {
		page, err := s.List(ctx, store.ListParams{Filter: filter, After: after, Limit: 1000})
		if err != nil {
			return 0, err
		}
		for i := range page.Jobs {
			used += l.Weight(page.Jobs[i].Queue, page.Jobs[i].Kind)
		}
		counted, after = counted+len(page.Jobs), page.Next
		switch {
		case counted >= mostCounted:
			return l.Capacity, nil
		case after == "" || used > most:
			return used, nil
		}
	}
}

// key says that as many jobs of the job's key run as its limit lets, and which; and when the next
// may start by its rate.
func (w *finding) key(ctx context.Context, s store.Store, limits []store.Limit) error {
	name, key := w.Options.Limit, w.Options.LimitKey
	at := slices.IndexFunc(limits, func(l store.Limit) bool { return l.Name == name && l.PerKey })
	if name == "" || at < 0 {
		return nil
	}
	if err := w.keyRate(ctx, s, &limits[at]); err != nil {
		return err
	}
	capacity := limits[at].Slots()
	if capacity == 0 {
		w.add(why.LimitKey, "limit %s has a capacity of 0: raise it with \"holdfast limit set\"", name)
		w.causes[len(w.causes)-1].Limit, w.causes[len(w.causes)-1].Key = name, key
		return nil
	}
	running, err := s.RunningOf(ctx, w.Namespace, name, key, 0)
	if err != nil || len(running) < capacity {
		return err
	}
	texts := make([]string, 0, mostNamed)
	for _, id := range running[:min(len(running), mostNamed)] {
		texts = append(texts, id.String())
	}
	if len(running) > mostNamed {
		texts = append(texts, "…")
	}
	w.add(why.LimitKey, "limit %s lets %d of the key %s run at once, and %d do: %s",
		name, capacity, key, len(running), strings.Join(texts, ", "))
	last := &w.causes[len(w.causes)-1]
	last.Limit, last.Key, last.Job = name, key, running[0]
	return nil
}

// keyRate says when the next job of the job's key may start by the rate of its limit, unless that
// is now.
func (w *finding) keyRate(ctx context.Context, s store.Store, l *store.Limit) error {
	if l.Rate == nil {
		return nil
	}
	next, err := s.NextOf(ctx, w.Namespace, l.Name, w.Options.LimitKey)
	switch {
	case err != nil:
		return err
	case l.Rate.Count == 0:
		w.add(why.RateKey, "limit %s has a rate of 0: raise it with \"holdfast limit set\"", l.Name)
	case next.After(w.now):
		w.add(why.RateKey, "limit %s lets %s jobs of the key %s start, %d at once: its next permit comes in %s",
			l.Name, l.Rate, w.Options.LimitKey, l.Rate.Bursts(), w.left(next)).Until = next
	default:
		return nil
	}
	last := &w.causes[len(w.causes)-1]
	last.Limit, last.Key = l.Name, w.Options.LimitKey
	return nil
}

// fair says how many jobs are before the job in the line of its fair key.
func (w *finding) fair(ahead int) {
	if ahead == 0 {
		return
	}
	before := fmt.Sprintf("%d jobs of its fair key %s, or of keys that share its turn, are", ahead, w.Options.FairKey)
	switch {
	case ahead == 1:
		before = fmt.Sprintf("a job of its fair key %s, or of a key that shares its turn, is", w.Options.FairKey)
	case ahead >= store.MostFairAhead:
		before = "at least " + before
	}
	w.add(why.FairKey, "%s before it", before)
	w.causes[len(w.causes)-1].Key = w.Options.FairKey
}
