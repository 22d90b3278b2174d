package local

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
)

// TestMergedWishes are for whatever either is for.
func TestMergedWishes(t *testing.T) {
	t.Parallel()
	wish := func(due int64, maker store.Maker) store.Wake {
		w := store.Wake{Kind: store.WakeStillWanted, Maker: maker}
		if due > 0 {
			w.Due = time.Unix(due, 0)
		}
		return w
	}
	for _, c := range []struct{ a, b, want store.Wake }{
		{wish(0, 0), wish(5, 7), wish(5, 7)},
		{wish(5, 7), wish(0, 0), wish(5, 7)},
		{wish(5, 7), wish(6, 7), wish(5, 7)},
		{wish(6, 7), wish(5, 8), wish(5, 0)},
		{wish(5, 7), wish(6, 0), wish(5, 0)},
		{wish(0, 0), wish(0, 0), wish(0, 0)},
	} {
		if got := merge(c.a, c.b); !got.Due.Equal(c.want.Due) || got.Maker != c.want.Maker {
			t.Errorf("%+v and %+v: %+v", c.a, c.b, got)
		}
	}
}

// TestMergedCancelsForgetNobody: where they are too many to name, all nodes look, whatever comes
// after.
func TestMergedCancelsForgetNobody(t *testing.T) {
	t.Parallel()
	for _, kind := range []store.WakeKind{store.WakeCancel, store.WakeNews} {
		wake := store.Wake{Kind: kind}
		for range 3 {
			wake.Jobs = append(wake.Jobs, uuid.New())
		}
		if got := merge(wake, wake); got.Kind != kind || len(got.Jobs) != 6 {
			t.Errorf("few: %+v", got)
		}
		many := store.Wake{Kind: kind, Jobs: make([]store.ID, maxMerged[kind])}
		all := merge(wake, many)
		for _, got := range []store.Wake{all, merge(all, wake), merge(wake, all)} {
			if got.Kind != kind || len(got.Jobs) != 0 {
				t.Errorf("many: kind %v, %d jobs", got.Kind, len(got.Jobs))
			}
		}
	}
}
