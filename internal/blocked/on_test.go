package blocked

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast/store"
)

// TestWait: a run waits for whatever comes first of what its strands wait for.
func TestWait(t *testing.T) {
	signal, child := store.MessagesOf(store.MessageSignal), store.MessagesOf(store.MessageChild)
	soon, late := time.Unix(10, 0), time.Unix(20, 0)
	got := Wait([]On{
		{What: "signal b", Kinds: signal, Until: late, Updates: []string{"add"}},
		Any([]On{{What: "timer", Until: soon}, {What: "a child", Kinds: child, Failures: true}}),
		{What: "3 children", Count: 3},
		{What: "2 children", Count: 2},
		{What: "signal b", Kinds: signal},
	})
	want := &store.Wait{
		Until: soon, Kinds: signal | child, Count: 2, Failures: true,
		For: []byte(`{"waits_for":["2 children","3 children","signal b","the first of: timer, a child","update add"]}`),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestDeadlock: nothing from outside would end what these wait for.
func TestDeadlock(t *testing.T) {
	within := On{Strand: true, What: "strand b"}
	if got := Deadlock([]On{within, {Strand: true, What: "strand a"}}); got != "strand a; strand b" {
		t.Errorf("%q", got)
	}
	for _, other := range []On{
		{Strand: true, Until: time.Unix(1, 0)}, {Strand: true, Kinds: 1}, {Strand: true, Count: 1}, {Strand: true, Failures: true}, {},
	} {
		if got := Deadlock([]On{within, other}); got != "" {
			t.Errorf("%+v: %q", other, got)
		}
	}
}
