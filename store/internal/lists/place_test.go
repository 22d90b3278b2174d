package lists

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
)

func TestCursors(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sort := rapid.SampledFrom(store.Sorts).Draw(t, "sort")
		p := Place{ID: store.ID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))}
		if byTime(sort) {
			p.At = rapid.Int64().Draw(t, "at")
		}
		cursor := Cursor(sort, p)
		for _, other := range store.Sorts {
			got, err := parse(other, cursor)
			if other == sort && (err != nil || got != p) || other != sort && err == nil {
				t.Fatalf("%s by %s is %+v, %v", cursor, other, got, err)
			}
		}
	})
	id := idOf(5).String()
	for sort, wrong := range map[store.Sort][]string{
		store.SortNewest:   {"", "x", id + " ", "oldest." + id, "{" + id + "}", "urn:uuid:" + id},
		store.SortOldest:   {id, "oldest." + id + "0", "oldest.", "Oldest." + id},
		store.SortRunAt:    {"run_at." + id, "run_at.x." + id, "run_at.05." + id, "run_at.5", "run_at.+5." + id, "finished.5." + id},
		store.SortFinished: {"finished.99999999999999999999." + id},
	} {
		for _, cursor := range wrong {
			if p, err := parse(sort, cursor); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%q by %s is %+v, %v", cursor, sort, p, err)
			}
		}
	}
}

// TestAfter: what is after a place in an order by id is what is greater, or less.
func TestAfter(t *testing.T) {
	t.Parallel()
	ids := []store.ID{{}, idOf(1), idOf(255), idOf(256), {0: 1}, {0: 1, 15: 1}, uuid.Max}
	whole := created(&store.Filter{})
	for _, p := range ids {
		for _, id := range ids {
			for _, sort := range []store.Sort{store.SortNewest, store.SortOldest} {
				want := Compare(sort, Place{ID: id}, Place{ID: p}) > 0 && id != uuid.Max
				if got := whole.after(sort, &Place{ID: p}).Has(id); got != want {
					t.Errorf("%s is after %s by %s: %v", id, p, sort, got)
				}
			}
		}
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	at := time.UnixMicro(1000)
	for _, c := range []struct {
		span Span
		has  []int64
		not  []int64
	}{
		{span(time.Time{}, time.Time{}), []int64{math.MinInt64, 0, NoTime}, nil},
		{span(at, time.Time{}), []int64{1000, NoTime - 1}, []int64{999, NoTime}},
		{span(time.Time{}, at), []int64{math.MinInt64, 999}, []int64{1000, NoTime}},
		{span(at, at), nil, []int64{999, 1000, 1001}},
		{span(at.Add(1), at.Add(time.Microsecond+1)), []int64{1000}, []int64{1001}},
	} {
		for _, us := range append(slices.Clone(c.has), c.not...) {
			if c.span.Has(us) != slices.Contains(c.has, us) {
				t.Errorf("%+v has %d: %v", c.span, us, c.span.Has(us))
			}
		}
	}
	for ms, want := range map[int64]string{
		-5: "00000000-0000-0000-0000-000000000000", 1: "00000000-0001-0000-0000-000000000000", 1 << 60: "ffffffff-ffff-0000-0000-000000000000",
	} {
		if got := idAt(time.UnixMilli(ms)); got.String() != want {
			t.Errorf("the first id of %d is %s", ms, got)
		}
	}
}

// TestNumbers: two numbers are equal if they are as fractions.
func TestNumbers(t *testing.T) {
	t.Parallel()
	digits := rapid.StringMatching(`-?(0|[1-9][0-9]{0,4})(\.[0-9]{1,4})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := digits.Draw(t, "a"), digits.Draw(t, "b")
		if rapid.Bool().Draw(t, "the same") {
			b = a + "e0"
			if slices.ContainsFunc([]byte(a), func(c byte) bool { return c == 'e' || c == 'E' }) {
				b = a
			}
		}
		x, okA := new(big.Rat).SetString(a)
		y, okB := new(big.Rat).SetString(b)
		if !okA || !okB {
			t.Fatalf("%s or %s is no number", a, b)
		}
		if got := decimalOf(a).equal(decimalOf(b)); got != (x.Cmp(y) == 0) {
			t.Fatalf("%s equals %s: %v", a, b, got)
		}
	})
	for i := range 400 { // the same value, with its zeros on either side
		if whole, tiny := strconv.Itoa(i)+"000", strconv.Itoa(i)+"00.000e1"; !decimalOf(whole).equal(decimalOf(tiny)) {
			t.Errorf("%s is not %s", whole, tiny)
		}
	}
}
