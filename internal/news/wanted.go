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
	// wantedFor is how long another process's wish for news of a job is remembered; it is renewed sooner. wantedSinceFor is the
	// same for all jobs made since some time.
	wantedFor      = 15 * time.Second
	wantedSinceFor = 3 * time.Second
	// maxWanted bounds the jobs that are remembered. Of those beyond it news comes late.
	maxWanted = 100_000
	// maxMakers is the same for processes who wait for all that they make.
	maxMakers = 10_000
	// maxRecent is how many of the last jobs that had news are remembered, for those who ask a moment too late.
	maxRecent = 4096
)

// wanted knows for which jobs other processes wait, and which had news a moment ago. A wish takes a moment to arrive: what
// happened meanwhile is told when it does, so that no news falls between the two.
type wanted struct {
	some atomic.Bool // there is something to look up

	mu     sync.Mutex
	until  map[store.ID]time.Time    // when a wish ends
	since  map[store.Maker]wishSince // of jobs that somebody makes; 0: anybody
	purged time.Time
	recent []store.ID // a ring
	next   int        // its oldest place
}

// wishSince is a wish for all jobs made since a time.
type wishSince struct{ since, until time.Time }

// covers reports whether the wish is for a job.
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

// heard takes in a wish, and returns those of its jobs that had news a moment ago, if it is new.
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

// news notes jobs that have ended or published something, and returns those that others wait for.
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

// any reports whether somebody waits for any job.
func (w *wanted) any() bool { return w.some.Load() }

// purge forgets wishes that are over, now and then. w.mu is held.
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

// hasNews lists the jobs that have ended, or published something, by a batch that was committed.
func hasNews(batch *store.Batch) []store.ID {
	jobs := make([]store.ID, 0, len(batch.Outcomes))
	for _, a := range batch.Appends {
		if a.Err == nil && slices.ContainsFunc(a.Entries, func(e store.Entry) bool { return isPublished(e.Kind) }) {
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
