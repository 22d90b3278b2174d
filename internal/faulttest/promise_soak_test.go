//go:build soak

package faulttest

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestLeaderThatDoesNotKnowTheKind kills the node whose handlers promise a single attempt and a
// long backoff. The one that rescues its jobs has never heard of these kinds, and keeps the
// promises.
func TestLeaderThatDoesNotKnowTheKind(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, db *database) {
		const beat, dead = 200 * time.Millisecond, 8 * time.Second // longer than one that lives stands still
		leader := db.open(t, holdfast.WithLeases(beat, dead))
		other := holdfast.NewKind[int, int]("another")
		register(t, leader, other, func(*holdfast.Run, int) (int, error) { return 0, nil })
		work(t, leader)
		eventually(t, "there is a leader", func() bool {
			nodes, err := leader.Nodes(t.Context())
			return err == nil && len(nodes) == 1 && nodes[0].Leader
		})

		config := workerConfig{Role: "promise", Database: db.dsn, Beat: beat, Dead: dead}
		w := startWorker(t, config)
		single, slow := enqueue(t, leader, once, 0), enqueue(t, leader, patient, 0)
		// kill kills the worker while it runs the job, and waits for the rescue.
		kill := func(id holdfast.ID, lease int64) {
			t.Helper()
			w.Kill()
			eventually(t, "the leader takes the job", func() bool {
				r := get(t, leader, id)
				return r.State != store.Running || r.Lease.Number != lease
			})
		}
		w.awaitRun(single.ID)
		w.awaitRun(slow.ID)
		kill(single.ID, 1)
		if r := get(t, leader, single.ID); r.State != store.Failed || r.Reason != store.ReasonCrashLoop {
			t.Errorf("a job of one attempt whose node died: %s", told(r))
		}
		// The first loss is made good at once; the second has to wait.
		w = startWorker(t, config)
		w.awaitRun(slow.ID)
		kill(slow.ID, 2)
		if r := get(t, leader, slow.ID); r.State != store.Retryable || r.RunAt.Sub(r.Attempts[1].EndedAt) < 30*time.Minute {
			t.Errorf("a job with a backoff of an hour whose node died twice is due at %v: %s", r.RunAt, told(r))
		}
		if n := len(w.reports(single.ID)); n > 0 {
			t.Errorf("the job of one attempt ran again")
		}
	})
}
