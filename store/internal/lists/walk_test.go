package lists

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// endless are tables with a million jobs of each sort, of which only some fit. They count what is
// looked at.
type endless struct {
	fits   func(id int64) bool
	few    map[Where]int64 // how many there are with a pointer; those that are missing have too many
	ends   int64           // how many did not complete, in the lanes of the filter
	looked int
	calls  int
}

const endlessJobs = 1_000_000

func idOf(n int64) (id store.ID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

// numberOf is the number of an id. That of the last id is above those of all jobs.
func numberOf(id store.ID) int64 { return int64(min(binary.BigEndian.Uint64(id[8:]), 1<<40)) }

// some returns rows numbered from one on, by steps, as long as they are jobs.
func (e *endless) some(from, step int64, n int, state store.State) (rows Rows) {
	e.calls++
	for i := from; i >= 1 && i <= endlessJobs && len(rows.Found) < n; i += step {
		rows.Found = append(rows.Found, Found{Place: Place{At: i, ID: idOf(i)}, State: state})
	}
	e.looked += len(rows.Found)
	if rows.Looked = len(rows.Found); rows.Looked > 0 {
		rows.Last = rows.Found[rows.Looked-1].Place
	}
	return rows
}

func (e *endless) byID(s store.Sort, r Range, n int) (Rows, error) {
	if s == store.SortNewest {
		return e.some(min(numberOf(r.Below)-1, endlessJobs), -1, n, 0), nil
	}
	return e.some(max(numberOf(r.Least), 1), 1, n, 0), nil
}

func (e *endless) byTime(after *Place, n int, state store.State) (Rows, error) {
	if after == nil {
		return e.some(1, 1, n, state), nil
	}
	return e.some(after.At+1, 1, n, state), nil
}

func (e *endless) Holder([]byte) ([]store.ID, error) { e.calls++; return []store.ID{idOf(7)}, nil }
func (e *endless) ByKey(string) ([]store.ID, error)  { e.calls++; return []store.ID{idOf(8)}, nil }

func (e *endless) Descendants(_ store.ID, limit int) (ids []store.ID, err error) {
	return idsOf(e.some(1, 1, limit, 0).Found), nil
}

func (e *endless) LostFrom(_ int64, limit int) ([]store.ID, error) {
	return idsOf(e.some(1, 1, limit, 0).Found), nil
}

func (e *endless) Pointers(in Where, _ Span, limit int) ([]Found, error) {
	n := int64(0)
	for _, one := range []Where{InReady, InLine, InDeferred, InClaims} {
		if few, known := e.few[one]; in&one != 0 && known {
			n += few
		} else if in&one != 0 {
			n += endlessJobs
		}
	}
	return e.some(1, 1, int(min(n, int64(limit))), store.Scheduled).Found, nil
}

func (e *endless) NotCompletedIn(limit int) ([]Found, bool, error) {
	return e.some(1, 1, int(min(e.ends, int64(limit))), store.Failed).Found, true, nil
}

func (e *endless) Times(s store.Sort, ids []store.ID) (found []Found, err error) {
	e.calls++
	state := store.Scheduled
	if s == store.SortFinished {
		state = store.Failed
	}
	for _, id := range ids {
		found = append(found, Found{Place: Place{At: numberOf(id), ID: id}, State: state})
	}
	return found, nil
}

func (e *endless) Jobs(s store.Sort, r Range, n int) (Rows, error) { return e.byID(s, r, n) }

func (e *endless) Finished(s store.Sort, r Range, n int) (Rows, error) { return e.byID(s, r, n) }

func (e *endless) Children(_ store.ID, s store.Sort, r Range, n int) (Rows, error) {
	return e.byID(s, r, n)
}

func (e *endless) NotCompleted(s store.Sort, r Range, n int) (Rows, error) { return e.byID(s, r, n) }

func (e *endless) Ready(after *Place, _ Span, n int) (Rows, error) {
	return e.byTime(after, n, store.Available)
}

// Deferred has jobs that are not in Ready, none of which fits.
func (e *endless) Deferred(after *Place, _ Span, n int) (Rows, error) {
	rows, err := e.byTime(after, n, store.Scheduled)
	for i := range rows.Found {
		rows.Found[i].ID[0] = 1
	}
	if n := len(rows.Found); n > 0 {
		rows.Last = rows.Found[n-1].Place
	}
	return rows, err
}

func (e *endless) Ended(state store.State, after *Place, _ Span, n int) (Rows, error) {
	if after == nil {
		return e.some(endlessJobs, -1, n, state), nil
	}
	return e.some(after.At-1, -1, n, state), nil
}

func (e *endless) Dead(after *Place, _ Span, n int) (Rows, error) {
	return e.Ended(store.Failed, after, Span{}, n)
}

func (e *endless) Declared() (map[string]Declared, error) {
	return map[string]Declared{"equal": {1, store.AttributeInt}, "few": {2, store.AttributeInt}, "wide": {3, store.AttributeInt}}, nil
}

func (e *endless) Valued(_ int64, _ string, s store.Sort, r Range, n int) (Rows, error) {
	return e.byID(s, r, n)
}

// ValuedIn has few jobs for one of the attributes.
func (e *endless) ValuedIn(attribute int64, _ Values, limit int) ([]store.ID, error) {
	if attribute == 2 {
		limit = min(limit, 100)
	}
	return idsOf(e.some(1, 1, limit, 0).Found), nil
}

func (e *endless) ValuesOf(_ int64, ids []store.ID) ([]string, error) {
	e.calls++
	values := make([]string, len(ids))
	for i, id := range ids {
		if e.fits(numberOf(id)) {
			values[i] = store.IntValue(1).Data
		}
	}
	return values, nil
}

func (e *endless) LaneCount() (int, error) { e.calls++; return 1, nil }

// Buckets has the one bucket in which all jobs are.
func (e *endless) Buckets(_ store.Sort, r Range, n int) ([]Bucket, error) { return e.FewBuckets(r, n) }

func (e *endless) FewBuckets(r Range, n int) ([]Bucket, error) {
	if e.calls++; BucketOf(r.Least) > 0 || n < 1 {
		return nil, nil
	}
	return []Bucket{0}, nil
}

func (e *endless) Within(s store.Sort, ranges []Range, n int) (Rows, error) {
	return e.byID(s, ranges[0], n)
}

func (e *endless) Fits(found []Found) ([]bool, error) {
	e.calls++
	fits := make([]bool, len(found))
	for i, f := range found {
		fits[i] = f.ID[0] == 0 && e.fits(numberOf(f.ID))
	}
	return fits, nil
}

func (e *endless) Documents(ids []store.ID) ([]Document, error) {
	e.calls++
	return make([]Document, len(ids)), nil
}

func (e *endless) Records(ids []store.ID) (records []store.Record, err error) {
	e.calls++
	for _, id := range ids {
		records = append(records, store.Record{Job: store.Job{ID: id}})
	}
	return records, nil
}

// filters are of every sort, by what they are about.
var filters = map[string]store.Filter{
	"all":                        {},
	"a namespace":                {Namespace: "n"},
	"a tag":                      {Tags: []string{"t"}},
	"completed ones":             {States: []store.State{store.Completed}},
	"failed ones":                {States: []store.State{store.Failed}},
	"unfinished ones":            {States: []store.State{store.Scheduled, store.Available}},
	"a reason":                   {Reasons: []store.Reason{store.ReasonError}},
	"a fingerprint":              {Fingerprints: []int64{5}},
	"children":                   {Parent: idOf(1)},
	"a family":                   {Root: idOf(1)},
	"no children":                {NoParent: true},
	"a node":                     {LostFrom: 3},
	"a unique key":               {UniqueKey: []byte("k")},
	"ids":                        {IDs: []store.ID{idOf(3), idOf(4)}},
	"those that are due":         {RunAfter: time.UnixMicro(5)},
	"those that ended":           {FinishedAfter: time.UnixMicro(5)},
	"those that failed early":    {FinishedBefore: time.UnixMicro(50), Reasons: []store.Reason{store.ReasonError}},
	"an attribute that is equal": attributes("equal", store.AttributeIs),
	"one that few have":          attributes("few", store.AttributeIs),
	"one in a range":             attributes("wide", store.AttributeFrom),
	"one in a range of few":      attributes("few", store.AttributeFrom),
	"one that is there":          attributes("wide", store.AttributeIsThere),
	"several attributes":         attributes("wide", store.AttributeFrom, "equal", store.AttributeIs, "few", store.AttributeUpTo),
	"what args say":              {Args: []store.Match{{Path: "a", Value: []byte("null")}}},
}

// attributes is a filter by names and comparisons in turn.
func attributes(list ...any) store.Filter {
	f := store.Filter{Namespace: "n"}
	for i := 0; i < len(list); i += 2 {
		//nolint:errcheck // tests give a name and a comparison
		m := store.AttributeMatch{Name: list[i].(string), Op: list[i+1].(store.AttributeOp), Value: store.IntValue(1)}
		if m.Op == store.AttributeIsThere {
			m.Value = store.AttributeValue{}
		}
		f.Attributes = append(f.Attributes, m)
	}
	return f
}

// TestAnAttributeIsExact: of one value that must be equal a page reads what it shows, and nothing
// else; and of those that few have, or a range in which few are, it reads these.
func TestAnAttributeIsExact(t *testing.T) {
	t.Parallel()
	always := func(int64) bool { return true }
	for what, of := range map[string]struct {
		filter store.Filter
		most   int
	}{
		"equal": {attributes("equal", store.AttributeIs), 100},
		"few":   {attributes("few", store.AttributeFrom), 101},
		"both":  {attributes("equal", store.AttributeIs, "few", store.AttributeUpTo), Few + 101},
	} {
		for _, sort := range []store.Sort{store.SortNewest, store.SortOldest} {
			e := &endless{fits: always}
			page, err := Page(e, &store.ListParams{Filter: of.filter, Sort: sort, Limit: 50}, nil)
			if err != nil || len(page.Jobs) != 50 || e.looked > of.most {
				t.Errorf("%s by %s: %d jobs, %d rows are looked at, %v", what, sort, len(page.Jobs), e.looked, err)
			}
		}
	}
}

// TestAPageLooksAtFewRows: whatever is asked for, and however little of it fits, a page and a part
// of a count look at a number of rows that does not depend on how many jobs there are.
func TestAPageLooksAtFewRows(t *testing.T) {
	t.Parallel()
	for what, f := range filters {
		for _, sort := range store.Sorts {
			for share, fits := range map[string]func(int64) bool{
				"nothing": func(int64) bool { return false }, "one of a thousand": func(n int64) bool { return n%1000 == 0 },
				"everything": func(int64) bool { return true },
			} {
				e := &endless{fits: fits, few: map[Where]int64{InLine: 10, InClaims: 10}, ends: endlessJobs}
				page, err := Page(e, &store.ListParams{Filter: f, Sort: sort, Limit: 100}, nil)
				if err != nil {
					t.Fatalf("%s by %s: %v", what, sort, err)
				}
				// The plan looks at Few jobs of each of four places at the most.
				if e.looked > pageLooks+5*Few || e.calls > 60 {
					t.Errorf("%s by %s, of which %s fits: %d rows are looked at in %d calls", what, sort, share, e.looked, e.calls)
				}
				if share == "everything" && (len(page.Jobs) == 0) != (Wanted(&f, sort) == 0) {
					t.Errorf("%s by %s: the page has %d jobs", what, sort, len(page.Jobs))
				}
			}
		}
		e := &endless{fits: func(int64) bool { return false }, few: map[Where]int64{}, ends: endlessJobs}
		counted, err := Count(e, &f, store.SortNewest, nil)
		if err != nil || counted.N != 0 || e.looked > countLooks+5*Few {
			t.Errorf("counting %s: %+v, %v, %d rows are looked at", what, counted, err, e.looked)
		}
	}
}

// TestFewAreFoundAtOnce: jobs that have not finished, and failures of a small namespace, are found
// without a look at the many that completed.
func TestFewAreFoundAtOnce(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		filter store.Filter
		want   int
	}{
		"what waits":              {store.Filter{States: []store.State{store.Scheduled, store.Waiting}}, 50},
		"what waits, by its time": {store.Filter{RunAfter: time.UnixMicro(5)}, 50 + 10 + 10},
		"what failed":             {store.Filter{States: []store.State{store.Failed, store.Cancelled}, Namespace: "small"}, 20},
		"what is left":            {store.Filter{States: []store.State{store.Failed, store.Scheduled}, Namespace: "small"}, 70},
		"what failed so":          {store.Filter{Reasons: []store.Reason{store.ReasonError}, Namespace: "small"}, 20},
		"the holder of a key":     {store.Filter{UniqueKey: []byte("k")}, 1},
	} {
		for _, sort := range []store.Sort{store.SortNewest, store.SortOldest} {
			e := &endless{
				fits: func(int64) bool { return true }, ends: 20,
				few: map[Where]int64{InReady: 5, InLine: 5, InDeferred: 50, InClaims: 10},
			}
			page, err := Page(e, &store.ListParams{Filter: c.filter, Sort: sort, Limit: 100}, nil)
			if err != nil || len(page.Jobs) != c.want || page.Next != "" || e.looked > 2*c.want || e.calls > 10 {
				t.Errorf("%s: %d jobs, %q, %v, after %d rows in %d calls", what, len(page.Jobs), page.Next, err, e.looked, e.calls)
			}
			counted, err := Count(e, &c.filter, sort, nil)
			if err != nil || counted.N != c.want || counted.Next != "" {
				t.Errorf("%s: %+v are counted, %v", what, counted, err)
			}
		}
	}
}

// TestAllPages: page after page shows each job that fits, once, in order, however many there are.
func TestAllPages(t *testing.T) {
	t.Parallel()
	fits := func(n int64) bool { return n%10_000 == 7 }
	for _, sort := range store.Sorts {
		e := &endless{fits: fits, few: map[Where]int64{InLine: 0, InClaims: 0}}
		params := store.ListParams{Sort: sort, Limit: 3}
		if sort == store.SortFinished {
			params.Filter.States = []store.State{store.Completed}
		}
		seen, last := map[store.ID]bool{}, (*Place)(nil)
		for pages := 0; ; pages++ {
			after, err := Begin(&params)
			if err != nil {
				t.Fatal(err)
			}
			page, err := Page(e, &params, after)
			if err != nil || pages > 5000 {
				t.Fatalf("page %d by %s: %v", pages, sort, err)
			}
			for _, r := range page.Jobs {
				p := Place{ID: r.ID}
				if byTime(sort) {
					p.At = numberOf(r.ID)
				}
				if last != nil && Compare(sort, *last, p) >= 0 || seen[r.ID] {
					t.Fatalf("by %s job %d comes after job %d", sort, numberOf(p.ID), numberOf(last.ID))
				}
				seen[r.ID], last = true, &p
			}
			if params.After = page.Next; params.After == "" {
				break
			}
		}
		if len(seen) != endlessJobs/10_000 {
			t.Errorf("by %s %d jobs are shown, want %d", sort, len(seen), endlessJobs/10_000)
		}
	}
}

// TestRunAtNeedsFewInLine: what has no order anywhere cannot be sorted if it is much.
func TestRunAtNeedsFewInLine(t *testing.T) {
	t.Parallel()
	for _, many := range []Where{InLine, InClaims} {
		few := map[Where]int64{InLine: 10, InClaims: 10}
		few[many] = Few + 1
		e := &endless{fits: func(int64) bool { return true }, few: few}
		_, err := Page(e, &store.ListParams{Sort: store.SortRunAt, Limit: 1}, nil)
		if !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%v", err)
		}
		// A count goes another way.
		counted, err := Count(e, &store.Filter{States: []store.State{store.Available, store.Running}}, 0, nil)
		if err != nil || counted.N <= Few {
			t.Errorf("%+v, %v", counted, err)
		}
		// One that has begun by the run time can only begin again.
		_, err = Count(e, &store.Filter{}, store.SortRunAt, &Place{At: 5, ID: idOf(5)})
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%v", err)
		}
	}
}

// TestCountEndsAfterTheBound: a part has no more than it needs to say that there are more.
func TestCountEndsAfterTheBound(t *testing.T) {
	t.Parallel()
	e := &endless{fits: func(int64) bool { return true }}
	counted, err := Count(e, &store.Filter{}, store.SortNewest, nil)
	if err != nil || counted.N <= store.CountBound || counted.N > store.CountBound+atOnce || counted.Next == "" {
		t.Errorf("%+v, %v", counted, err)
	}
	// A part that finds less ends as well, and the next one goes on where it ended.
	e = &endless{fits: func(n int64) bool { return n%5000 == 0 }}
	params, total := store.CountParams{Filter: store.Filter{Tags: []string{"t"}}}, 0
	for parts := 0; ; parts++ {
		s, after, err := BeginCount(&params)
		if err != nil {
			t.Fatal(err)
		}
		counted, err := Count(e, &params.Filter, s, after)
		if err != nil || parts > 2*endlessJobs/countLooks {
			t.Fatal(fmt.Sprint(parts, counted), err)
		}
		total += counted.N
		if params.After = counted.Next; params.After == "" {
			break
		}
	}
	if total != endlessJobs/5000 {
		t.Errorf("%d are counted, want %d", total, endlessJobs/5000)
	}
}
