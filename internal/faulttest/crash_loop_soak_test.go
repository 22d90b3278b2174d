//go:build soak

package faulttest

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestCancelledJobThatKillsItsNode cancels a durable job whose run then dies with its process, each
// time. It is tried as often as any other job, and not at once each time.
func TestCancelledJobThatKillsItsNode(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, db *database) {
		// Each process knows the clock of a server as well as a round trip of up to a second tells
		// it.
		const attempts, wait, clocks = 4, 2 * time.Second, time.Second
		hf := db.open(t)
		config := workerConfig{Role: "suicide", Database: db.dsn, Beat: 100 * time.Millisecond, Dead: time.Second}
		job := enqueue(t, hf, suicide, 0, holdfast.MaxAttempts(attempts), holdfast.Backoff(wait, wait))
		w := startWorker(t, config)
		eventually(t, "the job is parked", func() bool { return get(t, hf, job.ID).State == store.Waiting })
		if err := job.Cancel(t.Context(), "enough"); err != nil {
			t.Fatal(err)
		}
		// As a supervisor does who starts again what has died.
		deaths := 0
		ended := func() bool { return get(t, hf, job.ID).State.Finished() }
		for deaths <= 2*attempts && !ended() {
			died := false
			eventually(t, "the process dies or the job ends", func() bool {
				select {
				case <-w.Done():
					died = true
				default:
				}
				return died || ended()
			})
			if died {
				deaths++
				w = startWorker(t, config)
			}
		}
		r := get(t, hf, job.ID)
		if r.State != store.Failed || r.Reason != store.ReasonCrashLoop {
			t.Errorf("after %d deaths of its process: %s", deaths, told(r))
		}
		if deaths > attempts {
			t.Errorf("it killed %d processes with %d attempts", deaths, attempts)
		}
		// The first lost run is repeated at once, the others wait.
		for i := 2; i < len(r.Attempts); i++ {
			if a := r.Attempts[i]; a.ClaimedAt.Sub(r.Attempts[i-1].EndedAt) < wait-clocks {
				t.Errorf("attempt %d began %v after the one before", i+1, a.ClaimedAt.Sub(r.Attempts[i-1].EndedAt))
			}
		}
	})
}
