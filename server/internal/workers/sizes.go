package workers

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// sizes is how long the journals of runs are, as far as this server knows. Another server reads the
// journal once.
type sizes struct {
	mu     sync.Mutex
	all    map[store.Lease]size
	pruned time.Time
}

// size is how long a journal is.
type size struct {
	last           int64 // the number of its last entry
	entries, bytes int64
	used           time.Time
}

// add counts entries.
func (z *size) add(list []store.Entry) {
	for i := range list {
		z.last = list[i].Seq
		z.entries++
		z.bytes += journal.Weight(&list[i])
	}
}

// note notes the size of the journal of a run.
func (s *sizes) note(l store.Lease, z size) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.all == nil {
		s.all, s.pruned = map[store.Lease]size{}, now
	}
	if now.Sub(s.pruned) > time.Minute {
		s.pruned = now
		for l, one := range s.all {
			if now.Sub(one.used) > sessionKept {
				delete(s.all, l)
			}
		}
	}
	z.used = now
	s.all[l] = z
}

// upTo is the size of the journal of a run up to an entry, if it is known.
func (s *sizes) upTo(l store.Lease, last int64) (size, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	z, known := s.all[l]
	return z, last == 0 || known && z.last == last
}

// has reports whether the journal of a run is known to have entries.
func (s *sizes) has(l store.Lease) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[l].entries > 0
}

// forget drops what is known of a run that has ended.
func (s *sizes) forget(l store.Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, l)
}

// roomFor refuses what the journal of a run has no room for: what is there is read whenever the run
// resumes. It returns how long the journal is with that.
func (s *service) roomFor(ctx context.Context, r *run, after int64, list []store.Entry) (size, error) {
	z, known := s.sizes.upTo(r.Lease, after)
	switch {
	case after == 0:
		z = size{}
	case !known:
		z = size{}
		err := s.eachEntry(ctx, r, 0, func(found []store.Entry) bool {
			for i := range found {
				if found[i].Seq <= after {
					z.add(found[i : i+1])
				}
			}
			return z.last < after
		})
		if err != nil {
			return z, err
		}
	}
	if full := s.engine.MaxJournal().Full(z.entries, z.bytes); full != "" {
		return z, problem.New(problem.JournalFull, fmt.Sprintf("the journal of job %s has %s", r.Job, full))
	}
	z.add(list)
	return z, nil
}

const (
	// pageBytes is about how much of a journal is read at once.
	pageBytes = 2 << 20
	// fewEntries is how many entries are read first, which may be large, and manyEntries how many
	// are at the most.
	fewEntries  = 16
	manyEntries = 500
)

// eachEntry reads the journal of a run in portions, until more reports that it needs no more.
func (s *service) eachEntry(ctx context.Context, r *run, after int64, more func([]store.Entry) bool) error {
	for limit := fewEntries; ; {
		found, err := s.engine.Store.Entries(ctx, store.JournalParams{Namespace: r.Namespace, Job: r.Job, After: after, Limit: limit})
		if err != nil || len(found) == 0 || !more(found) || len(found) < limit {
			return err
		}
		after = found[len(found)-1].Seq
		var z size
		z.add(found)
		limit = portion(limit, len(found), z.bytes)
	}
}

// portion is how many are read next, after so many of so many bytes.
func portion(limit, found int, bytes int64) int {
	fits := manyEntries
	if bytes > 0 {
		fits = int(min(int64(manyEntries), pageBytes*int64(found)/bytes))
	}
	return max(1, min(fits, limit*4))
}
