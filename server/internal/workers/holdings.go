package workers

import (
	"maps"
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
	claims   map[int64]time.Time // when each last had runs which had not ended; for a while behind that
	from     int64               // new ones are from this number on
	next     int64               // from is this one once recent is long enough ago
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

// ask is what to ask about: what is listed, what has had runs of late, and what is new. A run that
// has ended may not have: its end is lost if the database fails over to a standby that lags.
func (h *holdings) ask(listed map[store.Lease]string) store.HeldParams {
	h.mu.Lock()
	defer h.mu.Unlock()
	claims := slices.Collect(maps.Keys(h.claims))
	for l := range listed {
		claims = append(claims, l.Claim)
	}
	claims = slices.DeleteFunc(claims, func(c int64) bool { return c >= h.from }) // new ones are asked about as it is
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
	if h.claims == nil {
		h.claims = map[int64]time.Time{}
	}
	last := h.next
	for _, l := range held {
		h.claims[l.Claim] = now
		last = max(last, l.Claim+1)
	}
	maps.DeleteFunc(h.claims, func(_ int64, ran time.Time) bool { return now.Sub(ran) > late })
	if now.Sub(h.recent) > late {
		h.from, h.next, h.recent = h.next, last, now
	}
}
