package postgres

import (
	"testing"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
)

// TestMergedCancelsForgetNobody: where they are too many to name, all nodes look, whatever comes after.
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
