package view

import (
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/lists"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/spans"
)

// LaneCount implements lists.Tables.
func (l *tables) LaneCount() (int, error) {
	ids, _, err := l.selectedLanes()
	return len(ids), err
}

// Buckets implements lists.Tables.
func (l *tables) Buckets(s store.Sort, r lists.Range, n int) (buckets []lists.Bucket, err error) {
	ids, _, err := l.selectedLanes()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		some, err := spans.In(l.Tx, id, s, r, n)
		if err != nil {
			return nil, err
		}
		buckets = append(buckets, some...)
	}
	if slices.Sort(buckets); s == store.SortNewest {
		slices.Reverse(buckets)
	}
	buckets = slices.Compact(buckets)
	return buckets[:min(n, len(buckets))], nil
}

// FewBuckets implements lists.Tables.
func (l *tables) FewBuckets(r lists.Range, n int) (buckets []lists.Bucket, err error) {
	ids, _, err := l.selectedLanes()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		some, err := spans.In(l.Tx, id, store.SortOldest, r, n-len(buckets))
		if buckets = append(buckets, some...); err != nil || len(buckets) >= n {
			return buckets, err
		}
	}
	return buckets, nil
}

// Within implements lists.Tables.
func (l *tables) Within(s store.Sort, ranges []lists.Range, n int) (rows lists.Rows, err error) {
	for _, r := range ranges {
		some, err := l.Jobs(s, r, n-rows.Looked)
		if err != nil {
			return rows, err
		}
		rows.Found = append(rows.Found, some.Found...)
		if rows.Looked += some.Looked; some.Looked > 0 {
			rows.Last = some.Last
		}
		if rows.Looked >= n {
			break
		}
	}
	return rows, nil
}
