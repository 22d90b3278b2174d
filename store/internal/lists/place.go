package lists

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
)

// Place is where a job is in an order: its time, in microseconds, and its id. Orders by id have no
// time.
type Place struct {
	At int64
	ID store.ID
}

// NoTime is the time of jobs that no time wakes. They come after all others.
const NoTime = math.MaxInt64

// Compare orders two places.
func Compare(s store.Sort, a, b Place) int {
	switch s {
	case store.SortNewest:
		return bytes.Compare(b.ID[:], a.ID[:])
	case store.SortOldest:
		return bytes.Compare(a.ID[:], b.ID[:])
	case store.SortFinished:
		return cmp.Or(cmp.Compare(b.At, a.At), bytes.Compare(b.ID[:], a.ID[:]))
	default:
		return cmp.Or(cmp.Compare(a.At, b.At), bytes.Compare(a.ID[:], b.ID[:]))
	}
}

// byTime reports whether places of the order have a time.
func byTime(s store.Sort) bool { return s == store.SortRunAt || s == store.SortFinished }

// Cursor writes a place of the order as a page tells it. Those of the newest first are nothing but
// an id.
func Cursor(s store.Sort, p Place) string {
	switch {
	case s == store.SortNewest:
		return p.ID.String()
	case byTime(s):
		return s.String() + "." + strconv.FormatInt(p.At, 10) + "." + p.ID.String()
	default:
		return s.String() + "." + p.ID.String()
	}
}

// parse reads a cursor, in no other form than Cursor writes it: what comes back in another one is
// none of ours.
func parse(s store.Sort, cursor string) (p Place, err error) {
	rest := cursor
	if s != store.SortNewest {
		var found bool
		if rest, found = strings.CutPrefix(cursor, s.String()+"."); !found {
			return p, refusal.BadCursor(cursor)
		}
	}
	if byTime(s) {
		at, id, _ := strings.Cut(rest, ".")
		if p.At, err = strconv.ParseInt(at, 10, 64); err != nil {
			return p, refusal.BadCursor(cursor)
		}
		rest = id
	}
	if p.ID, err = uuid.Parse(rest); err != nil || Cursor(s, p) != cursor {
		return p, refusal.BadCursor(cursor)
	}
	return p, nil
}

// Begin reports why there is no such page, an ErrInvalid. It returns the place after which the page
// begins, nil for the first.
func Begin(params *store.ListParams) (after *Place, err error) {
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	if err := check(&params.Filter); err != nil {
		return nil, err
	}
	if !slices.Contains(store.Sorts, params.Sort) {
		return nil, fmt.Errorf("%w: unknown order %d", store.ErrInvalid, params.Sort)
	}
	for _, state := range params.Filter.States {
		if !params.Sort.States().Has(state) {
			return nil, fmt.Errorf("%w: %s jobs cannot be sorted by %s", store.ErrInvalid, state, params.Sort)
		}
	}
	if params.After == "" {
		return nil, nil
	}
	p, err := parse(params.Sort, params.After)
	if err == nil {
		return &p, nil
	}
	for _, other := range store.Sorts {
		if _, no := parse(other, params.After); no == nil {
			return nil, refusal.OtherSort(other, params.Sort)
		}
	}
	return nil, err
}

// BeginCount reports why there is no such part of a count, an ErrInvalid. It returns the order that
// the part goes on in, and the place after which it begins, nil for the first part.
func BeginCount(params *store.CountParams) (s store.Sort, after *Place, err error) {
	if err := check(&params.Filter); err != nil || params.After == "" {
		return store.SortNewest, nil, err
	}
	for _, s := range store.Sorts {
		if p, err := parse(s, params.After); err == nil {
			return s, &p, nil
		}
	}
	return 0, nil, refusal.BadCursor(params.After)
}

// check reports why no store takes the filter, an ErrInvalid.
func check(f *store.Filter) error {
	if len(f.IDs) > store.MaxFilterIDs {
		return fmt.Errorf("%w: the filter has %d ids; the limit is %d", store.ErrInvalid, len(f.IDs), store.MaxFilterIDs)
	}
	if err := f.CheckKey(); err != nil {
		return err
	}
	if err := f.CheckAttributes(); err != nil {
		return err
	}
	for _, state := range f.States {
		if !slices.Contains(store.States, state) {
			return fmt.Errorf("%w: the filter has the unknown state %d", store.ErrInvalid, state)
		}
	}
	for _, r := range []struct {
		name          string
		after, before time.Time
	}{
		{"Created", f.CreatedAfter, f.CreatedBefore}, {"Run", f.RunAfter, f.RunBefore}, {"Finished", f.FinishedAfter, f.FinishedBefore},
	} {
		if err := checkRange(r.name, r.after, r.before); err != nil {
			return err
		}
	}
	for _, list := range [][]store.Match{f.Metadata, f.Args} {
		if _, err := Compile(list); err != nil {
			return err
		}
	}
	return nil
}

// checkRange reports why a range of time is none, an ErrInvalid.
func checkRange(name string, after, before time.Time) error {
	for _, t := range []time.Time{after, before} {
		if t.Before(time.Time{}) || t.Year() > 9999 {
			return fmt.Errorf("%w: a time of the filter is not between the years 1 and 9999", store.ErrInvalid)
		}
	}
	if !before.IsZero() && after.After(before) {
		return fmt.Errorf("%w: the range of the filter ends before it begins: %sAfter is %s, %sBefore is %s", store.ErrInvalid,
			name, after.Format(time.RFC3339Nano), name, before.Format(time.RFC3339Nano))
	}
	return nil
}

// Span is a range of times in microseconds: From belongs to it, and Until does not.
type Span struct{ From, Until int64 }

// always is all time.
var always = Span{math.MinInt64, NoTime}

func span(after, before time.Time) Span {
	s := always
	if !after.IsZero() {
		s.From = after.UnixMicro()
	}
	if !before.IsZero() {
		s.Until = before.UnixMicro()
	}
	return s
}

// Has reports whether a time is in the span. What has no time is in none but that of all times.
func (s Span) Has(at int64) bool { return s.From <= at && at <= s.Last() }

// Last is the last time of the span.
func (s Span) Last() int64 {
	if s.IsAll() {
		return NoTime
	}
	return s.Until - 1
}

// IsAll reports whether a span has all times.
func (s Span) IsAll() bool { return s == always }

// Range is a range of ids: Least belongs to it, and Below does not.
type Range struct{ Least, Below store.ID }

// created are the ids that a filter selects by their time. The greatest of all is above those that
// clients make.
func created(f *store.Filter) Range {
	r := Range{Below: uuid.Max}
	if !f.CreatedAfter.IsZero() {
		r.Least = idAt(f.CreatedAfter)
	}
	if !f.CreatedBefore.IsZero() {
		r.Below = idAt(f.CreatedBefore)
	}
	return r
}

// idAt is the least id of a millisecond.
func idAt(t time.Time) (id store.ID) {
	ms := uint64(min(max(t.UnixMilli(), 0), 1<<48-1))
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	return id
}

// Has reports whether an id is in the range.
func (r Range) Has(id store.ID) bool {
	return bytes.Compare(r.Least[:], id[:]) <= 0 && bytes.Compare(id[:], r.Below[:]) < 0
}

// after is what of the range is still to come in an order by id, after a place.
func (r Range) after(s store.Sort, p *Place) Range {
	switch {
	case p == nil:
	case s == store.SortNewest:
		if bytes.Compare(p.ID[:], r.Below[:]) < 0 {
			r.Below = p.ID
		}
	default:
		if next := successor(p.ID); bytes.Compare(r.Least[:], next[:]) < 0 {
			r.Least = next
		}
	}
	return r
}

// successor is the id after one. That of the last is itself.
func successor(id store.ID) store.ID {
	if id == uuid.Max {
		return id
	}
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]++; id[i] != 0 {
			break
		}
	}
	return id
}
