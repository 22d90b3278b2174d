package news

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
)

func TestWantedIsBounded(t *testing.T) {
	var w wanted
	now := time.Unix(1_000_000, 0)
	ids := make([]store.ID, maxWanted+10)
	for i := range ids {
		ids[i] = uuid.Must(uuid.NewV7())
	}
	w.heard(store.Wake{Kind: store.WakeWanted, Jobs: ids}, now)
	if len(w.until) != maxWanted {
		t.Errorf("%d are remembered", len(w.until))
	}
	if got := w.news(ids[:2], now); len(got) != 2 {
		t.Errorf("wanted: %v", got)
	}
	w.news(ids, now)
	if len(w.recent) != maxRecent {
		t.Errorf("%d recent ones are remembered", len(w.recent))
	}
	later := now.Add(wantedFor)
	if got := w.news(ids[:2], later); len(got) != 0 || len(w.until) != 0 || w.any() {
		t.Errorf("after %v: %v, %d remembered", wantedFor, got, len(w.until))
	}
	if got := w.heard(store.Wake{Kind: store.WakeWanted, Jobs: ids[:1]}, later); fmt.Sprint(got) != fmt.Sprint(ids[:1]) {
		t.Errorf("what had just ended: %v", got)
	}
}
