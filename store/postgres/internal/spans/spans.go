// Package spans keeps where lanes have bodies, for lists: in which buckets of ids (lists.Bucket).
// Triggers add what is new, and package read reads it; here is how those go that have no bodies any
// more.
package spans

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store/internal/lists"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

const (
	// lookedAt and lanesAtMost are at how many spans, and at those of how many lanes, a sweep looks
	// in one call.
	lookedAt    = 2000
	lanesAtMost = 500
	// kept is for how long spans without bodies are kept at the least: a new job relies on a span
	// that is there, if its id was made less than an hour ago, and may be committed later.
	kept = 24 * time.Hour
)

// Sweep removes spans without bodies. It remembers how far it has come: behind the spans of a lane
// up to a bucket.
type Sweep struct {
	mu     sync.Mutex
	lane   int32
	bucket int64
}

// Remove removes spans without bodies that were made before a time, and a day ago. Each call looks
// at some of them, where the last one ended, and tells whether to go on at once: as long as there
// was much to remove.
func (w *Sweep) Remove(ctx context.Context, d *pg.DB, now, before time.Time) (more bool, err error) {
	if !w.mu.TryLock() {
		return false, nil // another call does it
	}
	defer w.mu.Unlock()
	if safe := now.Add(-kept); before.After(safe) {
		before = safe
	}
	found, end, err := w.next(ctx, d, lists.BucketAt(before))
	if err != nil || len(found.lanes) == 0 {
		return false, err
	}
	removed := 0
	err = pg.RetryOnConflict(ctx, func() error {
		removed = 0
		return d.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			return t.Run(ctx, "spans_remove", func(pg.Row) error { removed++; return nil },
				found.lanes, found.buckets, found.least, found.below)
		})
	})
	return !end && removed > lookedAt/2, err
}

// some are spans and the ranges of their ids.
type some struct {
	lanes        []int32
	buckets      []int64
	least, below []pgtype.UUID
}

func (s *some) add(lane int32, bucket int64) {
	r := lists.Bucket(bucket).Range()
	s.lanes, s.buckets = append(s.lanes, lane), append(s.buckets, bucket)
	s.least, s.below = append(s.least, pg.UUIDOf(r.Least)), append(s.below, pg.UUIDOf(r.Below))
}

// next reads the next spans from before a bucket. end: they are the last, and the next call begins
// again.
func (w *Sweep) next(ctx context.Context, d *pg.DB, before lists.Bucket) (found some, end bool, err error) {
	last := int32(0) // of the lanes that were looked at, if there may be more
	err = d.InTx(ctx, pg.BeginRead, func(t pg.Session) error {
		found, last = some{}, 0
		return t.Run(ctx, "spans_old", func(row pg.Row) error {
			var lane int32
			var bucket *int64
			err := row.Scan(&lane, &bucket)
			if err == nil && bucket != nil {
				found.add(lane, *bucket)
			} else {
				last = lane
			}
			return err
		}, w.lane, w.bucket, int64(before), int32(lanesAtMost), int32(lookedAt))
	})
	if err != nil {
		return found, false, err
	}
	switch n := len(found.lanes); {
	case n == lookedAt:
		w.lane, w.bucket = found.lanes[n-1], found.buckets[n-1]
	case last != 0:
		w.lane, w.bucket = last+1, -1
	default:
		w.lane, w.bucket, end = 0, 0, true
	}
	return found, end, nil
}
