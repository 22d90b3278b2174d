package events

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast"
)

func entriesList(after Place) list[holdfast.JournalEntry] {
	return newReading(nil, holdfast.ID{}, after).entries
}

// placeAfter is the place of a reader that has read these entries.
func placeAfter(entries []holdfast.JournalEntry) (p Place) {
	if n := len(entries); n > 0 {
		p.toEntry(entryMark(&entries[n-1]))
	}
	return p
}

// journalOf is a journal of n entries, of which those from one on are of another lease.
func journalOf(n, lease, from int64) []holdfast.JournalEntry {
	var entries []holdfast.JournalEntry
	for seq := int64(1); seq <= n; seq++ {
		e := holdfast.JournalEntry{Seq: seq, Kind: "step", Lease: 1}
		if seq >= from {
			e.Lease = lease
		}
		entries = append(entries, e)
	}
	return entries
}

// pages reads a list, and notes after what.
func pages(there []holdfast.JournalEntry, asked *[]int64) func(after int64) ([]holdfast.JournalEntry, error) {
	return func(after int64) ([]holdfast.JournalEntry, error) {
		*asked = append(*asked, after)
		rest := there[min(int(after), len(there)):]
		return rest[:min(len(rest), page)], nil
	}
}

// TestListReadsOn: only what is new and the last known element are read; after a change all is read
// again, and told is what has changed.
func TestListReadsOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		known, there []holdfast.JournalEntry
		asked        []int64
		dropped      int64
		fresh        int // so many of the last ones
	}{
		{"from the beginning", nil, journalOf(2500, 1, 1), []int64{0, 999, 1998}, 0, 2500},
		{"nothing new", journalOf(2500, 1, 1), journalOf(2500, 1, 1), []int64{2499}, 0, 0},
		{"a few", journalOf(2500, 1, 1), journalOf(2510, 1, 1), []int64{2499}, 0, 10},
		{"many", journalOf(5, 1, 1), journalOf(1500, 1, 1), []int64{4, 1003}, 0, 1495},
		{"a whole page", nil, journalOf(1000, 1, 1), []int64{0, 999}, 0, 1000},
		{"cut off", journalOf(9, 1, 1), journalOf(7, 1, 1), []int64{8, 0}, 8, 0},
		{"cut off and gone on", journalOf(9, 1, 1), journalOf(12, 2, 5), []int64{8, 0}, 5, 8},
		{"begun anew", journalOf(3000, 1, 1), journalOf(1, 2, 1), []int64{2999, 0}, 1, 1},
		{"nothing yet", nil, nil, []int64{0}, 0, 0},
	} {
		l := entriesList(Place{})
		var asked []int64
		known, err := l.look(pages(c.known, &asked))
		if err != nil {
			t.Fatal(err)
		}
		l.take(known)
		asked = nil
		got, err := l.look(pages(c.there, &asked))
		want := c.there[len(c.there)-c.fresh:]
		if err != nil || got.dropped != c.dropped || !cmp.Equal(got.fresh, want, cmpopts.EquateEmpty()) || !slices.Equal(asked, c.asked) {
			t.Errorf("%s: asked for what comes after %v, got %d entries, %d dropped, %v", c.name, asked, len(got.fresh), got.dropped, err)
		}
	}
}

// TestListFromAPlace: what was read before is not read again, unless it is not there any more, or
// something else is there under its number. Numbers alone do not tell that.
func TestListFromAPlace(t *testing.T) {
	t.Parallel()
	marked, numbers := placeAfter(journalOf(5, 1, 1)), Place{Entry: 5}
	for _, c := range []struct {
		after          Place
		there, anew    int64 // of which those from anew on are of another run; 0: none
		fresh, dropped int64
	}{
		{marked, 5, 0, 0, 0},
		{marked, 7, 0, 2, 0},
		{marked, 4, 0, 4, 1},
		{marked, 0, 0, 0, 1},
		{marked, 7, 6, 2, 0},
		{marked, 5, 5, 5, 1},
		{marked, 7, 3, 7, 1},
		{marked, 1500, 1, 1500, 1},
		{numbers, 5, 0, 0, 0},
		{numbers, 7, 0, 2, 0},
		{numbers, 4, 0, 4, 1},
		{numbers, 7, 3, 2, 0},
	} {
		there := journalOf(c.there, 1, 1)
		if c.anew > 0 {
			there = journalOf(c.there, 2, c.anew)
		}
		l := entriesList(c.after)
		var asked []int64
		got, err := l.look(pages(there, &asked))
		if err != nil || int64(len(got.fresh)) != c.fresh || got.dropped != c.dropped {
			t.Errorf("%+v: it reads %d, %d dropped, %v", c, len(got.fresh), got.dropped, err)
		}
	}
}

// TestListIsWhatWasTold: whatever becomes of a journal, whichever looks fail, and however often a
// reader goes away and comes back with its place, if it does what it is told it has the journal in
// the end.
func TestListIsWhatWasTold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var there, told []holdfast.JournalEntry
		l := entriesList(Place{})
		lease := int64(1)
		for range rapid.IntRange(1, 20).Draw(t, "looks") {
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				if cut := rapid.IntRange(0, 2*len(there)+1).Draw(t, "cut"); cut < len(there) {
					there = slices.Clip(there[:cut])
				}
				lease++
				for range rapid.IntRange(0, 3).Draw(t, "entries") {
					there = append(there, holdfast.JournalEntry{Seq: int64(len(there) + 1), Lease: lease})
				}
			}
			if rapid.Bool().Draw(t, "comes back") {
				l = entriesList(placeAfter(told))
			}
			fails := rapid.Bool().Draw(t, "fails")
			var asked []int64
			read := pages(there, &asked)
			got, err := l.look(func(after int64) ([]holdfast.JournalEntry, error) {
				if fails && len(asked) > 0 {
					return nil, errors.New("away")
				}
				return read(after)
			})
			if err != nil {
				continue
			}
			l.take(got)
			if got.dropped > 0 {
				told = told[:got.dropped-1]
			}
			told = append(slices.Clip(told), got.fresh...)
			if !cmp.Equal(told, there, cmpopts.EquateEmpty()) {
				t.Fatalf("told %d entries of %d", len(told), len(there))
			}
		}
	})
}
