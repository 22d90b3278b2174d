package faulttest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// pausable is a job whose first run ends in the way that its args name, once it is told to go on.
var pausable = holdfast.NewKind[string, string]("pausable")

// waysToEnd are the ways in which a run can end without ending its job. The last is that of a node
// that stops.
var waysToEnd = []string{"fails", "asks to be retried", "snoozes", "panics", "is given back"}

// pausable is the role of a node with such jobs.
func (w *inside) pausable() error {
	return pausable.Handle(w.client, func(run *holdfast.Run, how string) (string, error) {
		w.runs(run)
		if run.Lease().Number > 1 {
			return "done", nil
		}
		if how == "is given back" {
			<-run.Done()
			return "", context.Cause(run)
		}
		<-w.open
		switch how {
		case "asks to be retried":
			return "", holdfast.RetryAfter(time.Millisecond, errors.New("not now"))
		case "snoozes":
			return "", holdfast.Snooze(time.Millisecond)
		case "panics":
			panic("as planned")
		default:
			return "", errors.New("as planned")
		}
	}, holdfast.Backoff(time.Millisecond, time.Millisecond))
}

// TestPauseWhileItRuns pauses plain jobs while they run. Their runs end in every way that
// leaves the job to be done: it is held then, the process lives, and the job goes on when it is
// resumed.
func TestPauseWhileItRuns(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, db *database) {
		hf := db.open(t)
		w := startWorker(t, workerConfig{Role: "pausable", Database: db.dsn})
		jobs := map[string]holdfast.ID{}
		for _, how := range waysToEnd {
			jobs[how] = enqueue(t, hf, pausable, how).ID
		}
		for _, id := range jobs {
			w.awaitRun(id)
			results, err := hf.Pause(t.Context(), "wait", id)
			if err != nil || results[0].Err != nil || results[0].State != store.Running {
				t.Fatalf("PauseJobs: %+v, %v", results, err)
			}
		}
		held := func(how string) {
			t.Helper()
			var r store.Record
			eventually(t, "the job that "+how+" is held", func() bool {
				w.lives()
				r = get(t, hf, jobs[how])
				return r.State == store.Waiting
			})
			if r.Wait == nil || !r.Wait.Held || r.Wait.Reason != store.ReasonPaused {
				t.Errorf("a job that %s while it is paused: %s", how, told(r))
			}
		}
		last := len(waysToEnd) - 1
		w.say("go")
		for _, how := range waysToEnd[:last] {
			held(how)
		}
		// A stopping process must not end before its outcomes are stored, and not by a panic.
		w.say("stop")
		<-w.Done()
		if err := w.Wait(); err != nil {
			t.Fatalf("the node that stopped: %v: %s", err, firstPanic(w.words.String()))
		}
		if r := get(t, hf, jobs[waysToEnd[last]]); r.State != store.Waiting || !r.Wait.Held {
			t.Errorf("a paused job that was given back: %s", told(r))
		}

		second := startWorker(t, workerConfig{Role: "pausable", Database: db.dsn})
		for _, id := range jobs {
			if err := resume(t.Context(), hf, "go on", id); err != nil {
				t.Fatal(err)
			}
		}
		for how, id := range jobs {
			if r := ends(t, hf, id, store.Completed); r.Lease.Number != 2 {
				t.Errorf("the job that %s took %d runs", how, r.Lease.Number)
			}
		}
		second.lives()
	})
}
