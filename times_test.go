package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestTimesAreKept: the durations of steps, including failed ones, and the start of the handler.
func TestTimesAreKept(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		tries := 0
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			_, err := holdfast.Step(run, "fetch", func(context.Context) (int, error) {
				tries++
				time.Sleep(time.Duration(tries) * time.Second)
				if tries < 3 {
					return 0, errors.New("not yet")
				}
				return 1, nil
			}, holdfast.MaxAttempts(5), holdfast.Backoff(time.Second, time.Second))
			return 1, errors.Join(err, run.Sleep(time.Minute))
		})
		result(f, job)
		entries, err := f.hf.JournalEntries(t.Context(), job.ID, 0, 10)
		if err != nil || len(entries) != 4 {
			t.Fatalf("%+v, %v", entries, err)
		}
		for i, want := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 0} {
			if entries[i].Took != want {
				t.Errorf("entry %d, %s, took %v, want %v", i+1, entries[i].Kind, entries[i].Took, want)
			}
		}
		record, err := job.Get(t.Context())
		if err != nil || record.StartedAt.IsZero() || record.StartedAt.Before(record.ClaimedAt) || record.StartedAt.After(record.FinishedAt) {
			t.Errorf("claimed %v, started %v, finished %v, %v", record.ClaimedAt, record.StartedAt, record.FinishedAt, err)
		}
	})
}

// TestFailuresThatAreAlike: they have one fingerprint; retried ones have none.
func TestFailuresThatAreAlike(t *testing.T) {
	t.Parallel()
	hf := open(t)
	kind := holdfast.NewKind[int, int]("k")
	err := kind.Handle(hf, func(run *holdfast.Run, n int) (int, error) {
		if n == 0 {
			return 0, holdfast.Fail(errors.New("no such thing"))
		}
		return 0, holdfast.Fail(fmt.Errorf("order %d of job %s is gone", n, run.ID()))
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, hf)
	var prints []int64
	for _, n := range []int{17, 4711, 0} {
		job, err := kind.Enqueue(t.Context(), hf, n)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = job.Wait(t.Context())
		record, err := job.Get(t.Context())
		if err != nil || record.State != store.Failed {
			t.Fatalf("%+v, %v", record, err)
		}
		prints = append(prints, record.Fingerprint)
	}
	if prints[0] == 0 || prints[0] != prints[1] || prints[2] == prints[0] {
		t.Errorf("the fingerprints are %v", prints)
	}
}
