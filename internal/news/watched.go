package news

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// maxWatched bounds the jobs whose runs other processes watch; who watches others polls.
const maxWatched = 10_000

// watched has the jobs whose runs other processes watch.
type watched struct {
	some atomic.Bool // there are any

	mu     sync.Mutex
	until  map[store.ID]time.Time // when a subscription ends, unless it is renewed
	purged time.Time
}

// heard adds subscriptions, and returns those jobs that are new.
func (w *watched) heard(jobs []store.ID, now time.Time) (fresh []store.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.purge(now)
	if w.until == nil {
		w.until = map[store.ID]time.Time{}
	}
	for _, id := range jobs {
		_, known := w.until[id]
		if !known && len(w.until) >= maxWatched {
			continue
		}
		if !known {
			fresh = append(fresh, id)
		}
		w.until[id] = now.Add(wantedFor)
	}
	w.some.Store(len(w.until) > 0)
	return fresh
}

// of returns those of the jobs that other processes watch.
func (w *watched) of(jobs []store.ID, now time.Time) (those []store.ID) {
	if !w.some.Load() {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.purge(now)
	for _, id := range jobs {
		if until, ok := w.until[id]; ok && now.Before(until) {
			those = append(those, id)
		}
	}
	return those
}

// purge removes subscriptions that have ended, now and then. w.mu is held.
func (w *watched) purge(now time.Time) {
	if since := now.Sub(w.purged); since >= 0 && since < wantedFor/3 {
		return
	}
	w.purged = now
	for id, until := range w.until {
		if !now.Before(until) {
			delete(w.until, id)
		}
	}
	w.some.Store(len(w.until) > 0)
}

// wentOn lists the jobs whose runs have written something in a committed batch, or whose inbox has
// grown.
func wentOn(batch *store.Batch) (jobs []store.ID) {
	for _, a := range batch.Appends {
		if a.Err == nil {
			jobs = append(jobs, a.Lease.Job)
		}
	}
	for _, o := range batch.Outcomes {
		if o.Err == nil {
			jobs = append(jobs, o.Lease.Job)
		}
	}
	for _, c := range batch.Checkpoints {
		if c.Err == nil {
			jobs = append(jobs, c.Lease.Job)
		}
	}
	for _, s := range batch.Sends {
		if s.Err == nil {
			jobs = append(jobs, s.Job)
		}
	}
	return jobs
}
