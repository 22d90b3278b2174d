package engine

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

func TestWaited(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		created, due time.Duration // before at
		want         time.Duration
	}{
		{5, 3, 3}, {3, 5, 3}, {3, 3, 3}, {3, 0, 0}, {-2, 4, 0}, {4, -2, 0},
	} {
		job := store.Claimed{Job: store.Job{CreatedAt: at.Add(-c.created), RunAt: at.Add(-c.due)}}
		if got := waited(&job, at); got != c.want {
			t.Errorf("enqueued %d and due %d before its start, it has waited %d, want %d", c.created, c.due, got, c.want)
		}
	}
	if got := waited(&store.Claimed{Job: store.Job{CreatedAt: at.Add(-7)}}, at); got != 7 {
		t.Errorf("without a run time it has waited %d", got)
	}
	if got := waited(&store.Claimed{}, at); got != 0 {
		t.Errorf("of an unknown enqueue it has waited %d", got)
	}
}
