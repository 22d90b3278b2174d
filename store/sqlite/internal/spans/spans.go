// Package spans keeps where lanes have bodies, for lists: in which buckets of ids (lists.Bucket).
// Triggers add what is new; here is what the file says of them, and how those go that have no
// bodies any more.
package spans

import (
	"fmt"
	"strconv"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/lists"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// nameOf is what stands for a bucket in the file.
func nameOf(b lists.Bucket) string { return fmt.Sprintf("%011X", int64(b)) }

// In returns the next n buckets of a lane within a range, in an order by id.
func In(t *core.Tx, lane int64, s store.Sort, r lists.Range, n int) ([]lists.Bucket, error) {
	name := "spans_oldest"
	if s == store.SortNewest {
		name = "spans_newest"
	}
	first, last := r.Buckets()
	return read(t, name, lane, nameOf(first), nameOf(last), n)
}

func read(t *core.Tx, name string, lane int64, first, last string, n int) (buckets []lists.Bucket, err error) {
	s := t.Stmt(name)
	s.BindInt(lane)
	s.BindText(first)
	s.BindText(last)
	s.BindInt(int64(n))
	return buckets, db.Each(s, func() error {
		text := s.ReadText()
		b, err := strconv.ParseInt(text, 16, 64)
		if err != nil {
			return fmt.Errorf("%w: a lane has the span %q, which is none", store.ErrInvalid, text)
		}
		buckets = append(buckets, lists.Bucket(b))
		return nil
	})
}
