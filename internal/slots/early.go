package slots

import "github.com/holdfastdev/holdfast/store"

// early are the last jobs of which a request came while the node was not running them: between a
// thousand and two thousand.
type early struct{ young, old map[store.ID]bool }

func (r *early) add(id store.ID) {
	if r.young == nil || len(r.young) >= 1000 {
		r.young, r.old = map[store.ID]bool{}, r.young
	}
	r.young[id] = true
}

// take forgets a job, and reports whether it was there.
func (r *early) take(id store.ID) bool {
	there := r.young[id] || r.old[id]
	delete(r.young, id)
	delete(r.old, id)
	return there
}
