package logs

import (
	"sync"
	"time"
)

// Unanswered is from when on a call that is in flight counts as one that the database does not
// answer. A heartbeat, a commit and a probe take milliseconds, and are bounded in their size.
const Unanswered = 3 * time.Second

// inFlight are the calls that the database has not answered yet, and when each began.
type inFlight struct {
	mu    sync.Mutex
	last  uint64
	calls map[uint64]time.Time
}

// Began notes that a call is sent that takes a moment, and returns what Ended wants.
func (o *Outage) Began() (call uint64) {
	now := time.Now() //nolint:forbidigo // a duration, not the time of day
	f := &o.inFlight
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = map[uint64]time.Time{}
	}
	f.last++
	f.calls[f.last] = now
	return f.last
}

// Ended notes that a call was answered, or given up. One that has failed is noted with Failed
// before.
func (o *Outage) Ended(call uint64) {
	f := &o.inFlight
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.calls, call)
}

// longest is when the first of the calls in flight began; zero: none is.
func (f *inFlight) longest() (since time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, began := range f.calls {
		if since.IsZero() || began.Before(since) {
			since = began
		}
	}
	return since
}

// Since is since when the database does not answer: when the first call began that is retried until
// it succeeds and has failed, or that has been in flight for too long. Zero: it answers.
func (o *Outage) Since() (since time.Time) {
	o.mu.Lock()
	if len(o.calls) > 0 {
		since = o.since
	}
	o.mu.Unlock()
	hangs := o.inFlight.longest()
	if hangs.IsZero() || time.Since(hangs) < Unanswered || !since.IsZero() && since.Before(hangs) { //nolint:forbidigo // as above
		return since
	}
	return hangs
}
