package lists

import (
	"errors"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// FuzzCursors: a cursor of clients is one that a page has told, or is refused as what it is. One is
// read by no order but its own.
func FuzzCursors(f *testing.F) {
	for _, s := range store.Sorts {
		f.Add(Cursor(s, Place{At: 1_700_000_000_000_000, ID: store.ID{1, 2, 3}}))
	}
	f.Add(deadPlace{1, 2, "mail"}.cursor())
	f.Add("")
	f.Add("AAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, cursor string) {
		orders := 0
		for _, s := range store.Sorts {
			p, err := parse(s, cursor)
			switch {
			case err == nil && Cursor(s, p) != cursor:
				t.Errorf("%q is read as %q", cursor, Cursor(s, p))
			case err == nil:
				orders++
			case !errors.Is(err, store.ErrInvalid):
				t.Errorf("%q: %v", cursor, err)
			}
		}
		if orders > 1 {
			t.Errorf("%q is read by %d orders", cursor, orders)
		}
		p, err := parseDead(cursor)
		if err != nil && !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%q: %v", cursor, err)
		}
		if p != nil && p.cursor() != cursor {
			t.Errorf("%q is read as %q", cursor, p.cursor())
		}
	})
}
