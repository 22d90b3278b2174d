package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast/store"
)

// TestWakesOfWhatIsGivenBack: jobs that a node gives back wake those that may take them, once for
// each queue.
func TestWakesOfWhatIsGivenBack(t *testing.T) {
	batch := &store.Batch{}
	for _, queue := range []string{"a", "a", "b"} {
		c := store.Claimed{Job: store.Job{ID: store.NewID(), Namespace: "n", Queue: queue}}
		o := c.Outcome(store.Available)
		o.Final = store.Available
		batch.Outcomes = append(batch.Outcomes, o)
	}
	want := []store.Wake{{Kind: store.WakeReady, Namespace: "n", Queue: "a"}, {Kind: store.WakeReady, Namespace: "n", Queue: "b"}}
	if diff := cmp.Diff(want, wakesOf(batch, time.Unix(1000, 0), idlePoll)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
