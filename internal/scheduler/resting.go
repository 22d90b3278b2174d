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
	until map[key]time.Time   // zero: until their decision is answered
	taken map[key][]time.Time // nominal times that have a run, as their last decisions were told
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

// written ends the rest of a schedule about which was decided.
func (r *resting) written(k key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.until, k)
	delete(r.taken, k)
}

// again ends the rest of a schedule about which is to be decided again.
func (r *resting) again(k key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.until, k)
}

// has notes that a nominal time has a run.
func (r *resting) has(k key, nominal time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken == nil {
		r.taken = map[key][]time.Time{}
	}
	r.taken[k] = append(r.taken[k], nominal)
	delete(r.until, k)
}

// takenOf lists the nominal times of a schedule that have a run.
func (r *resting) takenOf(k key) []time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken[k]
}

// rests reports whether a schedule rests.
func (r *resting) rests(k key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.until[k]
	return ok
}

// count is how many rest.
func (r *resting) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.until)
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
