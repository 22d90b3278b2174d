package sqlite_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// TestFreedSlotsAreTold: a store that has said that slots of a limit are wanted hears when another
// one gives some back, however much else is written; once, and nothing of other limits.
func TestFreedSlotsAreTold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	source := sqlite.File(file(t))
	source.Poll = 200 * time.Millisecond
	here, there := open(t, source), open(t, source)
	limit := func(name string) store.Limit {
		l := store.Limit{Namespace: "default", Name: name, LimitSettings: store.LimitSettings{Capacity: 2}}
		saved, err := there.SaveLimit(ctx, l, 0, "")
		must(t, err)
		return saved
	}
	slack, other := limit("slack"), limit("other")
	node, calls := join(t, there), int64(0)
	grant := func(l store.Limit, keep, want int) {
		t.Helper()
		calls++
		ask := store.LimitAsk{Limit: l.ID, Version: l.Version, Keep: keep, Want: want}
		_, err := there.Grant(ctx, store.GrantParams{Node: node, Call: calls, Asks: []store.LimitAsk{ask}})
		must(t, err)
	}
	grant(slack, 0, 2)
	grant(other, 0, 2)

	here.Notify(store.Wake{Kind: store.WakeSlotsWanted, Namespace: "default", Queue: "slack"})
	wakes, ended := make(chan store.Wake, 100), make(chan error)
	go func() { ended <- here.Watch(ctx, func(w store.Wake) { wakes <- w }) }()
	if w := <-wakes; w.Kind != store.WakeAll {
		t.Fatalf("at first %+v", w)
	}
	grant(other, 0, 0)
	grant(slack, 1, 1)
	want := store.Wake{Kind: store.WakeSlotsFree, Namespace: "default", Queue: "slack"}
	got := store.Wake{Kind: store.WakeAll}
	for got.Kind == store.WakeAll {
		select {
		case got = <-wakes:
		case <-time.After(2 * time.Minute):
			t.Fatal("it is not told that slots are free")
		}
	}
	if got.Kind != want.Kind || got.Namespace != want.Namespace || got.Queue != want.Queue {
		t.Errorf("told %+v", got)
	}
	cancel()
	must(t, <-ended)
	for len(wakes) > 0 {
		if w := <-wakes; w.Kind != store.WakeAll {
			t.Errorf("told %+v as well", w)
		}
	}
}
