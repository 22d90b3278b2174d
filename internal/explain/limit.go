package explain

import (
	"fmt"
	"strings"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/why"
)

// limits says which limits have no slots for the job, and who holds them.
func (w *finding) limits(limits []store.Limit) {
	for i := range limits {
		l := &limits[i]
		weight := l.Weight(w.Queue, w.Kind)
		if weight == 0 {
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
