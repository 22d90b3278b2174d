package holdfast_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
)

// TestCancelWaitsForTheStrands: a cancelled run compensates what it has done once all of its
// strands have replayed, not when the first of them has ended.
func TestCancelWaitsForTheStrands(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		undone := 0
		step := func(context.Context) (int, error) { return 1, nil }
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			quick, err := holdfast.Go(run, "quick", func(run *holdfast.Run) (int, error) { return 1, run.Sleep(time.Hour) })
			if err != nil {
				return 0, err
			}
			slow, err := holdfast.Go(run, "slow", func(run *holdfast.Run) (int, error) {
				<-time.After(time.Second) // it is slow
				if _, err := holdfast.Step(run, "slow", step); err != nil {
					return 0, err
				}
				return 1, run.OnFailure("undo", func(*holdfast.Run) error { undone++; return nil })
			})
			if err != nil {
				return 0, err
			}
			if _, err := quick.Wait(run); err != nil {
				return 0, err
			}
			return slow.Wait(run)
		})
		time.Sleep(time.Minute)
		if _, err := f.hf.Cancel(t.Context(), "enough", job.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := job.Wait(t.Context()); !errors.Is(err, holdfast.ErrCancelled) || undone != 1 {
			t.Errorf("%v, undone %d times", err, undone)
		}
		record, err := job.Get(t.Context())
		if err != nil || len(record.Attempts) != 1 {
			t.Errorf("it takes more than one attempt to end: %+v, %v", record.Attempts, err)
		}
	})
}

// TestStuckStrandIsLeftBehind: a run that gives up a stuck strand does not wait for its
// transaction.
func TestStuckStrandIsLeftBehind(t *testing.T) {
	t.Parallel()
	for name, returns := range map[string]bool{"the handler waits for it": false, "the handler has returned": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFlow(t, func(t *testing.T, f *flow) {
				free := make(chan struct{})
				defer close(free)
				job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
					if run.Attempt() > 1 {
						return 7, nil
					}
					inside := make(chan struct{})
					beside, err := holdfast.Go(run, "stuck", func(run *holdfast.Run) (int, error) {
						return holdfast.Step(run, "stuck", func(context.Context) (int, error) {
							close(inside)
							<-free
							return 1, nil
						})
					})
					if err != nil {
						return 0, err
					}
					<-inside
					if returns {
						<-run.Done()
						return 0, context.Cause(run)
					}
					return beside.Wait(run)
				}, holdfast.Timeout(time.Second))
				if got := result(f, job); got != 7 {
					t.Error(got)
				}
				record, err := job.Get(t.Context())
				if err != nil || len(record.Attempts) != 1 || !returns && !strings.Contains(record.Attempts[0].Error, "was left behind") {
					t.Errorf("%+v, %v", record.Attempts, err)
				}
			})
		})
	}
}
