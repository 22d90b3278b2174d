// Package known is what the model knows of requests with keys of their callers. It imports store.
package known

import (
	"bytes"
	"maps"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Requests are those that are known, by their hashes.
type Requests map[string]store.KeptRequest

// Clone returns a copy.
func (k Requests) Clone() Requests { return maps.Clone(k) }

// Judged is a request that happens, and what is to be done with it.
type Judged struct {
	*store.KeyedRequest

	step store.RequestStep
}

// Judge decides about the requests of a batch, and sets Err of those that do not happen.
func (k Requests) Judge(requests []*store.KeyedRequest, now time.Time) (steps []Judged) {
	for _, r := range store.CheckRequests(requests, now) {
		var kept *store.KeptRequest
		if one, known := k[string(r.Hash)]; known {
			kept = &one
		}
		var step store.RequestStep
		if step, r.Err = r.Judge(kept, now); r.Err == nil {
			steps = append(steps, Judged{r, step})
		}
	}
	return steps
}

// Note does what was decided, once the results are known.
func (k Requests) Note(steps []Judged, now time.Time) {
	for _, r := range steps {
		is := store.KeptRequest{
			Print: bytes.Clone(r.Print), At: now, Until: r.Until(now), Owner: bytes.Clone(r.Owner), Answer: r.Kept(),
		}
		switch r.step {
		case store.UpdateRequest:
			is.At = k[string(r.Hash)].At
			k[string(r.Hash)] = is
		case store.InsertRequest:
			k[string(r.Hash)] = is
		case store.DeleteRequest:
			delete(k, string(r.Hash))
		case store.NoStep:
		}
	}
}

// Refuses returns why a request, or nil, does not happen that has begun: another one has taken it
// over.
func (k Requests) Refuses(r *store.KeyedRequest, now time.Time) error {
	if r == nil || len(k.Judge([]*store.KeyedRequest{r}, now)) > 0 {
		return nil
	}
	return r.Err
}

// Happens notes that a request, or nil, has happened.
func (k Requests) Happens(r *store.KeyedRequest, now time.Time) {
	if r != nil {
		k.Note(k.Judge([]*store.KeyedRequest{r}, now), now)
	}
}

// Forget removes what is over.
func (k Requests) Forget(now time.Time) {
	maps.DeleteFunc(k, func(_ string, r store.KeptRequest) bool { return now.Sub(r.At) >= store.RequestsKept })
}
