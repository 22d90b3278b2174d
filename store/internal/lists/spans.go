package lists

import (
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

const (
	// maxLanes is of how many lanes the buckets are brought together.
	maxLanes = 1000
	// fewest and most are how many buckets are asked for at once; of many lanes no more than share
	// in all, as each of them may have the next ones.
	fewest, most, share = 16, 256, 16_000
	// fewBuckets is how many buckets lanes may have whose jobs are all read and sorted.
	fewBuckets = 1000
)

// Dense is how many rows a walk through all jobs looks at for one that fits before it goes over to
// the buckets of the lanes. Tests set 0: it does so at once.
var Dense = 10

// selectsLanes reports whether a filter selects only some lanes.
func selectsLanes(f *store.Filter) bool {
	return f.Namespace != "" || len(f.Queues) > 0 || len(f.Kinds) > 0
}

// sparsely walks as long as enough of the jobs fit, and then goes from bucket to bucket of the
// lanes, if the filter selects some.
func (l *lister) sparsely(walk part) part {
	if !selectsLanes(l.filter) {
		return walk
	}
	var further part
	return func(after *Place, n int) (rows Rows, err error) {
		if further != nil {
			return further(after, n)
		}
		if Dense > 0 {
			if rows, err = walk(after, n); err != nil {
				return rows, err
			}
			rows.Found, err = l.checked(rows.Found)
			if err != nil || rows.Looked < n || len(rows.Found)*Dense >= rows.Looked {
				return rows, err
			}
		}
		b, few, err := l.newBuckets()
		if further = walk; few {
			further = b.next
		}
		if Dense > 0 || err != nil {
			return rows, err
		}
		return further(after, n)
	}
}

// buckets finds the jobs of lanes in an order by id, in their buckets.
type buckets struct {
	*lister

	most int // how many may be asked for at once
	some int // how many are, for now
}

// newBuckets reports also whether the filter selects few enough lanes.
func (l *lister) newBuckets() (b *buckets, few bool, err error) {
	lanes, err := l.LaneCount()
	if err != nil || lanes > maxLanes {
		return nil, false, err
	}
	return &buckets{lister: l, most: min(most, max(share/max(lanes, 1), fewest)), some: fewest}, true, nil
}

// next is a part. Its rows are jobs and buckets.
func (b *buckets) next(after *Place, n int) (rows Rows, err error) {
	left := b.created.after(b.sort, after)
	for rows.Looked < n {
		if left.isEmpty() {
			return rows, nil
		}
		some, done, err := b.look(left, max(n-rows.Looked, n/2))
		if err != nil {
			return rows, err
		}
		rows.Found, rows.Looked = append(rows.Found, some.Found...), rows.Looked+some.Looked
		left = left.behind(b.sort, done)
	}
	rows.Last = left.begin(b.sort)
	return rows, nil
}

// look looks at the next n jobs of a range in some buckets, and tells how far it came. It asks for
// more the next time if these had less than n.
func (b *buckets) look(in Range, n int) (rows Rows, done Range, err error) {
	found, err := b.Buckets(b.sort, in, b.some)
	if err != nil {
		return rows, in, err
	}
	if done = in; len(found) == b.some {
		if last := found[len(found)-1].Range(); b.sort == store.SortNewest {
			done = in.and(Range{last.Least, in.Below})
		} else {
			done = in.and(Range{in.Least, last.Below})
		}
	}
	if ranges := rangesOf(b.sort, found, in); len(ranges) > 0 {
		if rows, err = b.Within(b.sort, ranges, n); err != nil {
			return rows, in, err
		}
	}
	if rows.Looked >= n {
		done, b.some = in.until(b.sort, rows.Last), max(b.some/2, fewest)
	} else {
		b.some = min(2*b.some, b.most)
	}
	rows.Looked += len(found)
	return rows, done, nil
}

// fewEnds are the finished jobs of the lanes of the filter in an order by time, if there are few in
// these lanes.
func (l *lister) fewEnds() (found []Found, few bool, err error) {
	if !selectsLanes(l.filter) {
		return nil, false, nil
	}
	if !l.wanted.Has(store.Completed) {
		ended, byLane, err := l.NotCompletedIn(fewBuckets + 1)
		if err != nil {
			return nil, false, err
		}
		if byLane && len(ended) <= fewBuckets {
			found, err = l.Times(l.sort, idsOf(ended))
			return found, true, err
		}
	}
	lanes, err := l.LaneCount()
	if err != nil || lanes > maxLanes {
		return nil, false, err
	}
	in, err := l.FewBuckets(l.created, fewBuckets+1)
	if err != nil || len(in) > fewBuckets {
		return nil, false, err
	}
	slices.Sort(in)
	var rows Rows
	if ranges := rangesOf(store.SortOldest, in, l.created); len(ranges) > 0 {
		if rows, err = l.Within(store.SortOldest, ranges, pageLooks); err != nil || rows.Looked >= pageLooks {
			return nil, false, err
		}
	}
	found, err = l.Times(l.sort, idsOf(rows.Found))
	for i := range found {
		found[i].Checked = true
	}
	return found, true, err
}
