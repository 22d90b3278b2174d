package feed

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// chunk is how many rows one transaction removes.
const chunk = 200

// Retain removes the oldest rows if they are too old, so many at the most, and says how many these
// were and whether there are more. Keep 0 keeps all.
func Retain(ctx context.Context, d *core.Database, keep time.Duration, limit int) (done int, more bool, err error) {
	if keep <= 0 {
		return 0, false, nil
	}
	limit = min(limit, chunk)
	var last int64
	find := func(t *core.Tx) (bool, error) {
		var old []int64
		over := false
		s := t.Stmt("feed_oldest")
		s.BindInt(int64(limit) + 1)
		err := db.Each(s, func() error {
			first, at := s.ReadInt(), s.ReadInt()
			if over = over || isKept(at, t.Now, keep.Microseconds()); !over {
				old = append(old, first)
			}
			return nil
		})
		done, more = min(len(old), limit), len(old) > limit
		if done > 0 {
			last = old[done-1]
		}
		return done > 0, err
	}
	err = d.WriteIf(ctx, "remove old changes from the feed", find, func(t *core.Tx) error {
		if found, err := find(t); err != nil || !found {
			return err
		}
		s := t.Stmt("feed_forget")
		s.BindInt(last)
		return db.Exec(s)
	})
	return done, more, err
}

// isKept reports whether a row is young enough. One that was stamped far ahead, by a clock that was
// wrong, is not kept until then: those behind it would be, too.
func isKept(at, now, keep int64) bool { return at >= now-keep && at <= now+keep }
