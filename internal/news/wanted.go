package news

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

const (
	// wantedFor is how long a subscription of another process lasts; it is renewed sooner.
	// wantedSinceFor is the same for a subscription to all jobs made since some time.
	wantedFor      = 15 * time.Second
	wantedSinceFor = 3 * time.Second
	// maxWanted bounds the jobs with subscriptions; news of further jobs come late, by polls.
	maxWanted = 100_000
	// maxMakers bounds the processes with a subscription to all jobs that they make.
	maxMakers = 10_000
	// maxRecent is how many of the last jobs with news are remembered, for subscriptions that
	// arrive a moment too late.
	maxRecent = 4096
)

// wanted has the subscriptions of other processes, and the jobs that had news a moment ago: news
// that came before a subscription arrived are sent when it arrives.
type wanted struct {
	some atomic.Bool // there are subscriptions

	mu     sync.Mutex
	until  map[store.ID]time.Time    // when a subscription ends
	since  map[store.Maker]wishSince // by the process that makes the jobs; 0: any
	purged time.Time
	recent []store.ID // ring buffer
	next   int        // index of its oldest element
}

// wishSince is a subscription to all jobs made since a time.
type wishSince struct{ since, until time.Time }

// covers reports whether the subscription includes a job.
func (w wishSince) covers(id store.ID, now time.Time) bool {
	return now.Before(w.until) && !madeAt(id).Before(w.since)
}

// isWanted reports whether another process waits for a job. w.mu is held.
func (w *wanted) isWanted(id store.ID, now time.Time) bool {
	if until, ok := w.until[id]; ok && now.Before(until) {
		return true
	}
	return len(w.since) > 0 && (w.since[0].covers(id, now) || w.since[store.MakerOf(id)].covers(id, now))
}

// heard adds a subscription. If it is new, heard returns those of its jobs that had news a moment
// ago.
func (w *wanted) heard(wish store.Wake, now time.Time) []store.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.purge(now)
	if w.until == nil {
		w.until = map[store.ID]time.Time{}
	}
	asked := make(map[store.ID]bool, len(wish.Jobs))
	for _, id := range wish.Jobs {
		asked[id] = true
		if _, known := w.until[id]; known || len(w.until) < maxWanted {
			w.until[id] = now.Add(wantedFor)
		}
	}
	if !wish.Due.IsZero() {
		of := w.since[wish.Maker]
		if now.After(of.until) || wish.Due.Before(of.since) {
			of.since = wish.Due
		}
		of.until = now.Add(wantedSinceFor)
		if _, known := w.since[wish.Maker]; known || len(w.since) < maxMakers {
			if w.since == nil {
				w.since = map[store.Maker]wishSince{}
			}
			w.since[wish.Maker] = of
		}
	}
	w.some.Store(true)
	if wish.Kind == store.WakeStillWanted {
		return nil
	}
	var news []store.ID
	for _, id := range w.recent {
		if asked[id] || !wish.Due.IsZero() && !madeAt(id).Before(wish.Due) && (wish.Maker == 0 || wish.Maker == store.MakerOf(id)) {
			news = append(news, id)
		}
	}
	return news
}

// news records jobs that have ended or published something, and returns those with subscriptions.
func (w *wanted) news(jobs []store.ID, now time.Time) []store.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range jobs {
		if len(w.recent) < maxRecent {
			w.recent = append(w.recent, id)
			continue
		}
		w.recent[w.next] = id
		w.next = (w.next + 1) % maxRecent
	}
	if !w.some.Load() {
		return nil
	}
	w.purge(now)
	var told []store.ID
	for _, id := range jobs {
		if w.isWanted(id, now) {
			told = append(told, id)
		}
	}
	return told
}

// any reports whether there are subscriptions.
func (w *wanted) any() bool { return w.some.Load() }

// purge removes subscriptions that have ended, now and then. w.mu is held.
func (w *wanted) purge(now time.Time) {
	if now.Sub(w.purged) < wantedFor/3 {
		return
	}
	w.purged = now
	for id, until := range w.until {
		if !now.Before(until) {
			delete(w.until, id)
		}
	}
	maps.DeleteFunc(w.since, func(_ store.Maker, of wishSince) bool { return !now.Before(of.until) })
	w.some.Store(len(w.until)+len(w.since) > 0)
}

// hasNews lists the jobs that ended, published something, or answered a request in a committed
// batch.
func hasNews(batch *store.Batch) []store.ID {
	jobs := make([]store.ID, 0, len(batch.Outcomes))
	for _, a := range batch.Appends {
		if a.Err == nil && (len(a.Answers) > 0 || slices.ContainsFunc(a.Entries, func(e store.Entry) bool { return isPublished(e.Kind) })) {
			jobs = append(jobs, a.Lease.Job)
		}
	}
	for _, o := range batch.Outcomes {
		if o.Err == nil && o.Final.Finished() {
			jobs = append(jobs, o.Lease.Job)
		}
	}
	return jobs
}

func isPublished(kind store.EntryKind) bool {
	return kind == store.EntryPublished || kind == store.EntryStreamed
}
