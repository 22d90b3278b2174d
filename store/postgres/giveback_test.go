//go:build soak

package postgres_test

import (
	"errors"
	"testing"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// TestSlotsGivenBackInACrash: if the server is killed when slots were given back, the store says
// that either all of that has happened or nothing; what a node has got is there, and with it that
// the other one gave it back. The call that gives slots back does not wait for the disk, and the
// one that takes some does.
func TestSlotsGivenBackInACrash(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Private(t)
	s := open(t, postgres.Config{URL: cluster.URL("")})
	l := store.Limit{Namespace: "default", Name: "partner", LimitSettings: store.LimitSettings{Capacity: 3}}
	l, err := s.SaveLimit(t.Context(), l, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	first, second := join(t, s), join(t, s)
	call := int64(0)
	grant := func(node int64, want int) int {
		t.Helper()
		call++
		params := store.GrantParams{Node: node, Call: call, Asks: []store.LimitAsk{{Limit: l.ID, Version: l.Version, Want: want}}}
		for {
			answer, err := s.Grant(t.Context(), params)
			if errors.Is(err, store.ErrUnavailable) {
				continue // the server is about to be there again
			}
			if err != nil || len(answer) != 1 {
				t.Fatalf("%+v, %v", answer, err)
			}
			return answer[0].Slots
		}
	}
	crash := func() map[int64]int {
		t.Helper()
		cluster.Crash(t)
		cluster.Start(t)
		var found []store.Limit
		for found = nil; len(found) == 0; {
			found, err = s.Limits(t.Context(), "default", "partner")
			if err != nil && !errors.Is(err, store.ErrUnavailable) {
				t.Fatal(err)
			}
		}
		held := map[int64]int{}
		for _, h := range found[0].Holders {
			held[h.Node] = h.Slots
		}
		return held
	}
	lost := 0
	for range 5 {
		grant(first, 3)
		if held := crash(); held[first] != 3 {
			t.Fatalf("it got 3 slots, and after a crash it holds %d", held[first])
		}
		grant(first, 0)
		switch held := crash(); held[first] {
		case 0:
		case 3:
			lost++
			if n := grant(second, 1); n != 0 {
				t.Fatalf("another node got %d slots of a node that holds all as the store says", n)
			}
			grant(first, 0) // says again what it holds
		default:
			t.Fatalf("after a crash it holds %d slots of 3 that it gave back", held[first])
		}
		grant(first, 3)
		grant(first, 0)
		if n := grant(second, 3); n != 3 {
			t.Fatalf("another node got %d slots that were given back", n)
		}
		if held := crash(); held[first] != 0 || held[second] != 3 {
			t.Fatalf("after a crash they hold %d and %d of 3 slots that the second one got", held[first], held[second])
		}
		grant(second, 0)
	}
	if lost == 0 {
		t.Error("no call that only gave slots back was lost in a crash: each has waited for the disk")
	}
	t.Logf("%d of 5 calls that gave slots back were lost", lost)
}
