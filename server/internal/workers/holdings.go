package workers

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// holdings is what this server knows of what a worker holds: which claims have runs, and since when
// the worker has not listed some.
type holdings struct {
	mu       sync.Mutex
	claims   []int64 // that had runs which have not ended
	from     int64   // new ones are from this number on
	next     int64   // from is this one once recent is long enough ago
	recent   time.Time
	suspects map[store.Lease]time.Time
}

// claimTimeout bounds a claim. It is not ended with the request, as it would not be known then
// whether it has happened.
const claimTimeout = 10 * time.Second

// late is how long after a claim with a higher number one with a lower one may happen. A poll whose
// connection has died without a word goes on at its server for as long as it may wait, while its
// worker is answered elsewhere: a minute, and half of one that any request may take. Then a claim
// of it may still be under way, or a commit in which jobs start.
const late = 90*time.Second + 3*claimTimeout

// ask is what to ask about: what is listed, what had runs before, and what is new.
func (h *holdings) ask(listed map[store.Lease]string) store.HeldParams {
	h.mu.Lock()
	defer h.mu.Unlock()
	claims := slices.Clone(h.claims)
	for l := range listed {
		claims = append(claims, l.Claim)
	}
	slices.Sort(claims)
	return store.HeldParams{Claims: slices.Compact(claims), From: h.from, To: math.MaxInt64}
}

// see evaluates the answer, and returns leases that are not known for so long.
func (h *holdings) see(held []store.Lease, known func(store.Lease) bool, patience time.Duration) (lost []store.Lease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	h.note(held, now)
	suspects := map[store.Lease]time.Time{}
	for _, l := range held {
		if known(l) {
			continue
		}
		since, before := h.suspects[l]
		if !before {
			since = now
		}
		if suspects[l] = since; before && now.Sub(since) >= patience {
			lost = append(lost, l)
		}
	}
	h.suspects = suspects
	return lost
}

// learn takes in an answer, without a list of the worker.
func (h *holdings) learn(held []store.Lease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.note(held, time.Now())
}

// note notes which claims have runs. h.mu is held.
func (h *holdings) note(held []store.Lease, now time.Time) {
	h.claims = nil
	last := h.next
	for _, l := range held {
		h.claims = append(h.claims, l.Claim)
		last = max(last, l.Claim+1)
	}
	slices.Sort(h.claims)
	h.claims = slices.Compact(h.claims)
	if now.Sub(h.recent) > late {
		h.from, h.next, h.recent = h.next, last, now
	}
}
