package lists

import (
	"errors"
	"fmt"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

const (
	// pageLooks and countLooks are how many rows a page, and a part of a count, look at before they
	// end with what they have.
	pageLooks  = 10_000
	countLooks = 100_000
	// atOnce is how many rows are looked at in one step.
	atOnce = 1000
	// documentsAtOnce is how many documents and records are read at once, which may be large.
	documentsAtOnce = 100
)

// Page lists a page of jobs, after a place, nil for the first page.
func Page(t Tables, params *store.ListParams, after *Place) (page store.Page, err error) {
	l, err := newLister(t, &params.Filter, params.Sort)
	if err != nil {
		return page, err
	}
	var last Place // of the page
	step := min(max(2*params.Limit, 100), atOnce)
	for looked := 0; looked < pageLooks; {
		rows, end, err := l.next(after, step)
		if err != nil {
			return page, err
		}
		found, err := l.fitting(rows.Found)
		if err != nil {
			return page, err
		}
		if len(found) == 0 {
			step = min(2*step, atOnce) // few fit, and each step has its price
		}
		for len(found) > 0 {
			if len(page.Jobs) == params.Limit {
				page.Next = Cursor(params.Sort, last)
				return page, nil
			}
			n := min(len(found), params.Limit-len(page.Jobs), documentsAtOnce)
			records, err := l.Records(idsOf(found[:n]))
			if err != nil {
				return page, err
			}
			for i := range records {
				records[i].Result = nil
			}
			page.Jobs = append(page.Jobs, records...)
			last, found = found[n-1].Place, found[n:]
		}
		if end {
			return page, nil
		}
		looked += rows.Looked
		after = &rows.Last
	}
	page.Next = Cursor(params.Sort, *after)
	return page, nil
}

func idsOf(found []Found) []store.ID {
	ids := make([]store.ID, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	return ids
}

// Count counts a part of the jobs, in the order and after the place that BeginCount has told.
func Count(t Tables, f *store.Filter, s store.Sort, after *Place) (counted store.Counted, err error) {
	l, err := countingLister(t, f, s, after)
	if err != nil {
		return counted, err
	}
	for looked := 0; looked < countLooks && counted.N <= store.CountBound; {
		rows, end, err := l.next(after, atOnce)
		if err != nil {
			return counted, err
		}
		found, err := l.fitting(rows.Found)
		if err != nil {
			return counted, err
		}
		if counted.N += len(found); end {
			return counted, nil
		}
		looked += rows.Looked
		after = &rows.Last
	}
	counted.Next = Cursor(l.sort, *after)
	return counted, nil
}

// countingLister chooses the order for the first part: that of the pointers if only jobs that have
// one are counted, as then no others are looked at, unless they are not in that order.
func countingLister(t Tables, f *store.Filter, s store.Sort, after *Place) (*lister, error) {
	wanted := Wanted(f, s)
	pointers := wanted != 0 && wanted&^store.Unfinished == 0 && f.Parent == store.ID{}
	if after == nil && pointers {
		if l, err := newLister(t, f, store.SortRunAt); !errors.Is(err, store.ErrInvalid) {
			return l, err
		}
	}
	l, err := newLister(t, f, s)
	if after != nil && errors.Is(err, store.ErrInvalid) {
		err = fmt.Errorf("%w: too many jobs moved while they were counted; count again", store.ErrUnavailable)
	}
	return l, err
}

// next returns the next rows of all parts, in order, and whether they are the last. Of a part that
// may have more nothing is known after its last row, so that is where the rows of all end.
func (l *lister) next(after *Place, n int) (rows Rows, end bool, err error) {
	end = true
	for _, of := range l.parts {
		some, err := of(after, n)
		if err != nil {
			return rows, false, err
		}
		rows.Found, rows.Looked = append(rows.Found, some.Found...), rows.Looked+some.Looked
		if some.Looked >= n && (end || Compare(l.sort, some.Last, rows.Last) < 0) {
			rows.Last, end = some.Last, false
		}
	}
	if len(l.parts) > 1 {
		slices.SortFunc(rows.Found, func(a, b Found) int { return Compare(l.sort, a.Place, b.Place) })
	}
	if !end {
		rows.Found = slices.DeleteFunc(rows.Found, func(f Found) bool { return Compare(l.sort, f.Place, rows.Last) > 0 })
	}
	return rows, end, nil
}

// First are the first n of rows, each of which comes from one of several tables whose next n were
// read.
func First(s store.Sort, found []Found, n int) Rows {
	slices.SortFunc(found, func(a, b Found) int { return Compare(s, a.Place, b.Place) })
	rows := Rows{Found: found[:min(n, len(found))]}
	if rows.Looked = len(rows.Found); rows.Looked > 0 {
		rows.Last = rows.Found[rows.Looked-1].Place
	}
	return rows
}

// fitting returns those of the jobs that fit the filter, in the order given.
func (l *lister) fitting(found []Found) ([]Found, error) {
	found, err := l.checked(found)
	if err == nil {
		found, err = l.valued(found)
	}
	if err != nil || l.metadata == nil && l.args == nil {
		return found, err
	}
	var all []Found
	for some := range slices.Chunk(found, documentsAtOnce) {
		documents, err := l.Documents(idsOf(some))
		if err != nil {
			return nil, err
		}
		fits := make([]bool, len(some))
		for i, d := range documents {
			fits[i] = l.metadata.Fits(d.Metadata) && (l.args == nil || d.Codec == 0 && l.args.Fits(d.Args))
		}
		all = append(all, keep(some, fits)...)
	}
	return all, nil
}

// checked returns those that fit but for their documents.
func (l *lister) checked(found []Found) ([]Found, error) {
	found = slices.DeleteFunc(found, func(f Found) bool {
		return l.ids != nil && !l.ids[f.ID] || !l.created.Has(f.ID) || f.State != 0 && !l.wanted.Has(f.State)
	})
	if slices.ContainsFunc(found, func(f Found) bool { return !f.Checked }) {
		fits, err := l.Fits(found)
		if err != nil {
			return nil, err
		}
		found = keep(found, fits)
		for i := range found {
			found[i].Checked = true
		}
	}
	return found, nil
}

// keep returns those that fit.
func keep(found []Found, fits []bool) []Found {
	kept := make([]Found, 0, len(found))
	for i, f := range found {
		if fits[i] {
			kept = append(kept, f)
		}
	}
	return kept
}

// valued returns those of the jobs that have the values which the filter wants.
func (l *lister) valued(found []Found) ([]Found, error) {
	for i := range l.attributes {
		if len(found) == 0 {
			break
		}
		a := &l.attributes[i]
		values, err := l.ValuesOf(a.ID, idsOf(found))
		if err != nil {
			return nil, err
		}
		fits := make([]bool, len(found))
		for i, v := range values {
			fits[i] = a.has(v)
		}
		found = keep(found, fits)
	}
	return found, nil
}
