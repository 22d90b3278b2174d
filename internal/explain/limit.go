package explain

import (
	"fmt"
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

// limits says which limits have no slots for the job, and who holds them.
func (w *finding) limits(limits []store.Limit) {
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
		held, holders := 0, []string{}
		for _, h := range l.Holders {
			if h.Slots > 0 {
				held += h.Slots
				holders = append(holders, fmt.Sprintf("%s holds %d", nodeName(h.Node, w.nodes), h.Slots))
			}
		}
		switch {
		case l.Capacity < weight:
			w.add(why.Limit, "limit %s has a capacity of %d, and the job takes %d: raise it with \"holdfast limit set\"", l.Name, l.Capacity, weight)
		case l.Capacity-held < weight:
			w.add(why.Limit, "limit %s is full: %d of %d slots are held (%s), and the job takes %d",
				l.Name, held, l.Capacity, strings.Join(holders, ", "), weight)
		default:
			continue
		}
		w.causes[len(w.causes)-1].Limit = l.Name
	}
}
