package spans

import (
	"context"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store/internal/lists"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

const (
	// lookedAt is how many spans a sweep looks at in one transaction, and atMost in one call, which
	// are of no more than lanesAtMost lanes.
	lookedAt    = 200
	atMost      = 2000
	lanesAtMost = 500
)

// Sweep removes spans without bodies. It remembers how far it has come.
type Sweep struct {
	mu   sync.Mutex
	seen place
}

// place is behind the spans of a lane up to a bucket; "": behind all of the lane.
type place struct {
	lane   int64
	bucket string
}

// Remove removes spans without bodies that were made before a time. Each call looks at some of
// them, where the last one ended, and tells whether to go on at once: as long as there was much to
// remove.
func (w *Sweep) Remove(ctx context.Context, d *core.Database, before time.Time) (more bool, err error) {
	if !w.mu.TryLock() {
		return false, nil // another call does it
	}
	defer w.mu.Unlock()
	looked, removed := 0, 0
	for lanes := 0; lanes < lanesAtMost && looked < atMost; lanes++ {
		n, gone, end, err := w.next(ctx, d, nameOf(lists.BucketAt(before)))
		if err != nil || end {
			return false, err
		}
		looked, removed = looked+n, removed+gone
	}
	return removed > atMost/2, nil
}

// next looks at the next spans of the lane where the last call ended, or of the next lane. end:
// there is none, and the next call begins again.
func (w *Sweep) next(ctx context.Context, d *core.Database, before string) (looked, removed int, end bool, err error) {
	var at place
	var found, bare []lists.Bucket
	look := func(t *core.Tx) (bool, error) {
		at = w.seen
		if found, end, err = old(t, &at, before); end || err != nil {
			return false, err
		}
		bare, err = withoutBody(t, at.lane, found)
		return len(bare) > 0, err
	}
	err = d.WriteIf(ctx, "remove old jobs", look, func(t *core.Tx) error {
		if _, err := look(t); err != nil {
			return err
		}
		for _, b := range bare {
			s := t.Stmt("span_delete")
			s.BindInt(at.lane)
			s.BindText(nameOf(b))
			if err := db.Exec(s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, 0, false, err
	}
	if w.seen = at; end {
		w.seen = place{}
	} else if len(found) < lookedAt {
		w.seen.bucket = ""
	}
	return len(found), len(bare), end, nil
}

// old returns the next spans from before a bucket, and moves the place behind them. end: there is
// no lane behind it.
func old(t *core.Tx, at *place, before string) (found []lists.Bucket, end bool, err error) {
	if at.bucket == "" {
		s := t.Stmt("span_lane_next")
		s.BindInt(at.lane)
		there, err := s.Next()
		if err != nil || !there {
			return nil, true, err
		}
		*at = place{s.ReadInt(), "0"}
		s.Done()
	}
	found, err = read(t, "spans_oldest", at.lane, at.bucket, before, lookedAt)
	if n := len(found); n > 0 {
		at.bucket = nameOf(found[n-1] + 1)
	}
	return found, false, err
}

// withoutBody are those of the spans in which the lane has no body.
func withoutBody(t *core.Tx, lane int64, spans []lists.Bucket) (bare []lists.Bucket, err error) {
	for _, b := range spans {
		r := b.Range()
		s := t.Stmt("span_has_body")
		db.BindID(s, r.Least)
		db.BindID(s, r.Below)
		s.BindInt(lane)
		has, err := db.Exists(s)
		if err != nil {
			return nil, err
		}
		if !has {
			bare = append(bare, b)
		}
	}
	return bare, nil
}
