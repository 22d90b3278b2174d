package read

import (
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/lists"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// LaneCount implements lists.Tables.
func (l *tables) LaneCount() (int, error) { return len(l.lanes), nil }

// Buckets implements lists.Tables.
func (l *tables) Buckets(s store.Sort, r lists.Range, n int) ([]lists.Bucket, error) {
	first, last := r.Buckets()
	return l.buckets("list_buckets", l.lanes, int64(first), int64(last), s == store.SortNewest, int32(n))
}

// FewBuckets implements lists.Tables.
func (l *tables) FewBuckets(r lists.Range, n int) ([]lists.Bucket, error) {
	first, last := r.Buckets()
	return l.buckets("list_buckets_few", l.lanes, int64(first), int64(last), int32(n))
}

func (l *tables) buckets(name string, args ...any) (found []lists.Bucket, err error) {
	return found, l.run(name, func(r pg.Row) error {
		var b int64
		err := r.Scan(&b)
		found = append(found, lists.Bucket(b))
		return err
	}, args...)
}

// Within implements lists.Tables.
func (l *tables) Within(s store.Sort, ranges []lists.Range, n int) (rows lists.Rows, err error) {
	var least, below []pgtype.UUID
	for _, r := range ranges {
		least, below = append(least, pg.UUIDOf(r.Least)), append(below, pg.UUIDOf(r.Below))
	}
	places := map[store.ID]int64{}
	err = l.run("list_within", func(row pg.Row) error {
		var id pgtype.UUID
		var fits bool
		var place int64
		err := row.Scan(&id, &fits, &place)
		if p := (lists.Place{ID: id.Bytes}); fits {
			places[p.ID], rows.Found = place, append(rows.Found, lists.Found{Place: p, Checked: true})
		} else {
			rows.Looked, rows.Last = int(place), p
		}
		return err
	}, append([]any{least, below, s == store.SortNewest, int32(n)}, l.checks(false)...)...)
	slices.SortFunc(rows.Found, func(a, b lists.Found) int { return int(places[a.ID] - places[b.ID]) })
	return rows, err
}
