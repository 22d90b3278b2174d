//go:build soak

package faulttest

import (
	"context"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestHeldStepTx keeps the transaction of a StepTx open. A rollback lets the step be tried again.
func TestHeldStepTx(t *testing.T) {
	t.Parallel()
	for _, commits := range []bool{true, false} {
		t.Run(map[bool]string{true: "commit", false: "rollback"}[commits], func(t *testing.T) {
			t.Parallel()
			h := newHeld(t)
			h.registerBooks()
			work(t, h.hf)
			job := h.beginBooks()
			h.others.pass(h.hf, patience)
			h.end(commits)
			endsAs(h, job, "note")
			if n := value[int](t, h.pool, "SELECT count(*) FROM ledger"); n != 1 {
				t.Errorf("the step has written %d times", n)
			}
		})
	}
}

// TestNodesWhileAStepIsHeld lets nodes die and leave, and jobs be terminated, while the StepTx
// of another job is open.
func TestNodesWhileAStepIsHeld(t *testing.T) {
	t.Parallel()
	const beat, dead = 200 * time.Millisecond, 8 * time.Second // longer than one that lives stands still
	lingers := holdfast.NewKind[int, int]("lingers")
	for name, play := range map[string]func(h *held, running chan holdfast.ID){
		"a node dies": func(h *held, _ chan holdfast.ID) {
			w := startWorker(h.t, workerConfig{Role: "hold", Database: h.db.dsn, Beat: beat, Dead: dead})
			job := enqueue(h.t, h.producer, holding, 0)
			w.awaitRun(job.ID)
			w.Kill()
			eventually(h.t, "its job is taken from it", func() bool { return get(h.t, h.producer, job.ID).State != store.Running })
			startWorker(h.t, workerConfig{Role: "hold", Database: h.db.dsn})
			ends(h.t, h.producer, job.ID, store.Completed)
		},
		"a node leaves": func(h *held, running chan holdfast.ID) {
			leaver := h.db.open(h.t, holdfast.WithQueue("leaver", 10))
			register(h.t, leaver, lingers, h.linger(running))
			n := work(h.t, leaver)
			job := enqueue(h.t, h.producer, lingers, 0, holdfast.Queue("leaver"))
			receive(h.t, "the job runs", running)
			left := make(chan struct{})
			go func() {
				n.stop()
				close(left)
			}()
			receive(h.t, "the node leaves", left)
			if r := get(h.t, h.producer, job.ID); r.State != store.Available {
				h.t.Errorf("the job of a node that has left: %s", told(r))
			}
		},
		"a job of the node is terminated": func(h *held, running chan holdfast.ID) {
			job := enqueue(h.t, h.producer, lingers, 0)
			receive(h.t, "the job runs", running)
			ended := make(chan error, 1)
			go func() {
				results, err := h.producer.Terminate(context.WithoutCancel(h.t.Context()), "enough", job.ID)
				if err == nil {
					err = results[0].Err
				}
				ended <- err
			}()
			if err := receive(h.t, "the job is terminated", ended); err != nil {
				h.t.Fatal(err)
			}
			ends(h.t, h.producer, job.ID, store.Cancelled)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := onPostgres(t)
			h := &held{
				t: t, db: db, pool: pool(t, db.url), producer: db.open(t),
				hf: db.open(t, holdfast.WithLeases(beat, dead), holdfast.WithQueue("default", 0)),
			}
			h.registerBooks()
			running := make(chan holdfast.ID, 10)
			register(t, h.hf, lingers, h.linger(running))
			work(t, h.hf)
			job := h.beginBooks()
			t.Cleanup(func() { h.end(true) })
			play(h, running)
			if !t.Failed() {
				if r := get(t, h.producer, job.ID); r.State != store.Running || r.Lease.Number != 1 {
					t.Errorf("the job whose step is held: %s", told(r))
				}
			}
			h.end(true)
			endsAs(h, job, "note")
		})
	}
}
