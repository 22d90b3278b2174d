package lists

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
)

// history are many jobs of one lane with some of another, whose ids tell their time, and which have
// all completed. Those of the few are selected. It counts what is looked at.
type history struct {
	endless

	ids    []store.ID // ascending
	mine   map[store.ID]bool
	lanes  int
	looked int
	walked int // of these, in walks through all
	ended  int // of these, that had finished
	asked  int // buckets
}

// newHistory has a job in each millisecond, of which one of every so many is of the few.
func newHistory(jobs, every int) *history {
	h := &history{mine: map[store.ID]bool{}, lanes: 1}
	h.fits = func(int64) bool { return true }
	for i := range jobs {
		var id store.ID
		binary.BigEndian.PutUint64(id[:], uint64(1_700_000_000_000+i)<<16)
		id[15] = byte(i)
		if h.ids = append(h.ids, id); i%every == every/2 {
			h.mine[id] = true
		}
	}
	return h
}

func (h *history) LaneCount() (int, error) { return h.lanes, nil }

func (h *history) FewBuckets(r Range, n int) ([]Bucket, error) {
	return h.Buckets(store.SortOldest, r, n)
}

func (h *history) Buckets(s store.Sort, r Range, n int) (buckets []Bucket, err error) {
	for id := range h.mine {
		first, last := r.Buckets()
		if b := BucketOf(id); b >= first && b <= last {
			buckets = append(buckets, b)
		}
	}
	if slices.Sort(buckets); s == store.SortNewest {
		slices.Reverse(buckets)
	}
	buckets = slices.Compact(buckets)
	buckets = buckets[:min(n, len(buckets))]
	h.asked += len(buckets)
	return buckets, nil
}

func (h *history) Jobs(s store.Sort, r Range, n int) (rows Rows, err error) {
	rows, err = h.within(s, []Range{r}, n)
	h.walked += rows.Looked
	return rows, err
}

func (h *history) Finished(s store.Sort, r Range, n int) (Rows, error) {
	rows, err := h.Jobs(s, r, n)
	h.ended += rows.Looked
	return rows, err
}

func (h *history) Within(s store.Sort, ranges []Range, n int) (Rows, error) {
	return h.within(s, ranges, n)
}

func (h *history) within(s store.Sort, ranges []Range, n int) (rows Rows, err error) {
	for _, r := range ranges {
		some := slices.DeleteFunc(slices.Clone(h.ids), func(id store.ID) bool { return !r.Has(id) })
		if s == store.SortNewest {
			slices.Reverse(some)
		}
		for _, id := range some {
			if rows.Looked == n {
				return rows, nil
			}
			rows.Looked, rows.Last = rows.Looked+1, Place{ID: id}
			if h.looked++; h.mine[id] {
				rows.Found = append(rows.Found, Found{Place: rows.Last, State: store.Completed, Checked: true})
			}
		}
	}
	return rows, nil
}

func (h *history) Times(_ store.Sort, ids []store.ID) (found []Found, err error) {
	for _, id := range ids {
		found = append(found, Found{Place: Place{At: int64(binary.BigEndian.Uint64(id[:]) >> 16), ID: id}, State: store.Completed})
	}
	return found, nil
}

func (h *history) Ended(store.State, *Place, Span, int) (Rows, error) { panic("a walk by time") }

// pages are the jobs of all pages, and how many pages there were.
func (h *history) pages(t *testing.T, params store.ListParams) (ids []store.ID, pages int) {
	t.Helper()
	for ; ; pages++ {
		after, err := Begin(&params)
		if err != nil {
			t.Fatal(err)
		}
		page, err := Page(h, &params, after)
		if err != nil || pages > 10_000 {
			t.Fatal(pages, err)
		}
		for _, r := range page.Jobs {
			ids = append(ids, r.ID)
		}
		if params.After = page.Next; params.After == "" {
			return ids, pages + 1
		}
	}
}

// want are the few in an order.
func (h *history) want(s store.Sort) (ids []store.ID) {
	for _, id := range h.ids {
		if h.mine[id] {
			ids = append(ids, id)
		}
	}
	if s != store.SortOldest {
		slices.Reverse(ids)
	}
	return ids
}

// TestFewAreFoundByBuckets: the completed jobs of a lane that has few among many are on the first
// pages, in each order, after a look at little more than their buckets.
func TestFewAreFoundByBuckets(t *testing.T) {
	t.Parallel()
	for _, sort := range []store.Sort{store.SortNewest, store.SortOldest, store.SortFinished} {
		h := newHistory(50_000, 1000)
		params := store.ListParams{
			Filter: store.Filter{Namespace: "small", States: []store.State{store.Completed}}, Sort: sort, Limit: 50,
		}
		ids, pages := h.pages(t, params)
		if !slices.Equal(ids, h.want(sort)) || pages != 1 || h.looked > 100+50*17 || h.asked > 200 {
			t.Errorf("by %s %d jobs are on %d pages, after %d jobs and %d buckets", sort, len(ids), pages, h.looked, h.asked)
		}
	}
	h := newHistory(50_000, 1000)
	counted, err := Count(h, &store.Filter{Kinds: []string{"rare"}}, store.SortNewest, nil)
	if err != nil || counted.N != 50 || counted.Next != "" || h.walked > atOnce {
		t.Errorf("%+v are counted after %d jobs, %v", counted, h.walked, err)
	}
}

// TestDenseLanesAreWalked: where the jobs of the lanes are most of all, no bucket is asked for.
func TestDenseLanesAreWalked(t *testing.T) {
	t.Parallel()
	h := newHistory(2000, 3)
	ids, _ := h.pages(t, store.ListParams{Filter: store.Filter{Namespace: "large"}, Limit: 100})
	if !slices.Equal(ids, h.want(store.SortNewest)) || h.asked > 0 {
		t.Errorf("%d jobs, after %d buckets", len(ids), h.asked)
	}
	h = newHistory(2000, 100)
	h.lanes = maxLanes + 1
	ids, _ = h.pages(t, store.ListParams{Filter: store.Filter{Namespace: "wide"}, Limit: 100})
	if !slices.Equal(ids, h.want(store.SortNewest)) || h.asked > 0 {
		t.Errorf("of very many lanes: %d jobs, after %d buckets", len(ids), h.asked)
	}
}

// TestPagesOfBuckets: each job is on one page, whatever the pages are like; in a range of creation
// as well.
func TestPagesOfBuckets(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		h := newHistory(1+random.IntN(3000), 1+random.IntN(300))
		sort := []store.Sort{store.SortNewest, store.SortOldest}[random.IntN(2)]
		params := store.ListParams{Filter: store.Filter{Namespace: "n"}, Sort: sort, Limit: 1 + random.IntN(40)}
		want := h.want(sort)
		if random.IntN(2) == 0 {
			r := Range{h.ids[random.IntN(len(h.ids))], h.ids[random.IntN(len(h.ids))]}
			params.Filter.CreatedAfter, params.Filter.CreatedBefore = timeOf(r.Least), timeOf(r.Below)
			if params.Filter.CreatedAfter.After(params.Filter.CreatedBefore) {
				continue
			}
			within := created(&params.Filter)
			want = slices.DeleteFunc(want, func(id store.ID) bool { return !within.Has(id) })
		}
		ids, _ := h.pages(t, params)
		if !slices.Equal(ids, want) {
			t.Fatalf("round %d by %s, of %d: %d jobs are listed, want %d", round, sort, len(h.ids), len(ids), len(want))
		}
	}
}

func timeOf(id store.ID) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(id[:]) >> 16))
}

// TestEachBucketOnce: where every job is selected, so that parts end in the middle of buckets, each
// is found once, in order.
func TestEachBucketOnce(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for round := range 300 {
		h := newHistory(1+random.IntN(400), 1)
		sort := []store.Sort{store.SortNewest, store.SortOldest}[random.IntN(2)]
		f := &store.Filter{Namespace: "n"}
		l, err := newLister(h, f, sort)
		if err != nil {
			t.Fatal(err)
		}
		b := &buckets{lister: l, most: fewest + random.IntN(20), some: fewest}
		var ids []store.ID
		n := 1 + random.IntN(30)
		steps := 0
		for after := (*Place)(nil); ; steps++ {
			rows, err := b.next(after, n)
			if err != nil || len(ids) > len(h.ids) || steps > 5000 {
				t.Fatalf("round %d: %d jobs, %v", round, len(ids), err)
			}
			ids = append(ids, idsOf(rows.Found)...)
			if rows.Looked < n {
				break
			}
			after = &rows.Last
		}
		if !slices.Equal(ids, h.want(sort)) {
			t.Fatalf("round %d by %s, %d at once: %d jobs of %d", round, sort, n, len(ids), len(h.ids))
		}
	}
}

// TestFinishedAreWalked: what has finished is looked for among what has, not among all jobs.
func TestFinishedAreWalked(t *testing.T) {
	t.Parallel()
	for _, f := range []store.Filter{{}, {Namespace: "n"}} {
		h := newHistory(500, 2)
		f.States = []store.State{store.Completed, store.Failed}
		ids, _ := h.pages(t, store.ListParams{Filter: f, Limit: 50})
		if !slices.Equal(ids, h.want(store.SortNewest)) || h.walked != h.ended {
			t.Errorf("%+v: %d jobs, after a walk over %d, %d of them finished ones", f, len(ids), h.walked, h.ended)
		}
	}
}

// TestBuckets: a bucket has the ids that have its number, to the last one.
func TestBuckets(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"00000000-0000-0000-0000-000000000000", "0190a1b2-c3d4-7000-8000-000000000001", "0190a1b2-c3df-7fff-bfff-ffffffffffff",
		"ffffffff-ffff-7fff-bfff-ffffffffffff",
	} {
		id := uuid.MustParse(text)
		b := BucketOf(id)
		if want := fmt.Sprintf("%011x", int64(b)); want != id.String()[:8]+id.String()[9:12] || !b.Range().Has(id) {
			t.Errorf("%v is in the bucket %s, which is %v", id, want, b.Range())
		}
		if next := (b + 1).Range(); b < 1<<44-1 && (next.Has(id) || next.Least != b.Range().Below) {
			t.Errorf("the bucket after %v is %v", b, next)
		}
	}
	ranges := rangesOf(store.SortNewest, []Bucket{9, 9, 8, 5, 4, 2}, Range{Bucket(4).Range().Least, Bucket(9).Range().Below})
	if len(ranges) != 2 || ranges[0] != (Range{Bucket(8).Range().Least, Bucket(9).Range().Below}) ||
		ranges[1] != (Range{Bucket(4).Range().Least, Bucket(5).Range().Below}) {
		t.Errorf("%v", ranges)
	}
}
