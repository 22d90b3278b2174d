package scheduler

import (
	"sync"
	"time"
)

type key struct{ namespace, name string }

// resting are the schedules that are due and not to be decided about now: those whose decision is
// on its way, and those of which the last one could not be written.
type resting struct {
	mu    sync.Mutex
	until map[key]time.Time // zero: until their decision is answered
}

// rest lets a schedule rest until a time; zero: until the next call.
func (r *resting) rest(k key, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until == nil {
		r.until = map[key]time.Time{}
	}
	r.until[k] = until
}

func (r *resting) end(k key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.until, k)
}

// rests reports whether a schedule rests.
func (r *resting) rests(k key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.until[k]
	return ok
}

// wake ends the rest of those whose time has come, and returns when that of the next one comes, if
// it has a time; zero: there is none.
func (r *resting) wake(now time.Time) (next time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, until := range r.until {
		switch {
		case until.IsZero():
		case !until.After(now):
			delete(r.until, k)
		case next.IsZero() || until.Before(next):
			next = until
		}
	}
	return next
}
