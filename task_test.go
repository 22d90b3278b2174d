package holdfast_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestTask: a kind without results fails, waits and is called with an error alone.
func TestTask(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		hf := openOn(t, source)
		task := holdfast.NewTask[int]("task", holdfast.MaxAttempts(1))
		if err := task.Handle(hf, nil); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("no handler: %v", err)
		}
		err := task.Handle(hf, func(run *holdfast.Run, n int) error {
			if n > 1 {
				return task.Call(run, n-1)
			}
			return holdfast.Do(run, "step", func(context.Context) error {
				if n < 0 {
					return errors.New("negative")
				}
				return nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, hf)
		for n, want := range map[int]error{3: nil, -1: holdfast.ErrFailed} {
			job, err := task.Enqueue(t.Context(), hf, n)
			if err != nil {
				t.Fatal(err)
			}
			if err := task.Wait(t.Context(), hf, job.ID); !errors.Is(err, want) {
				t.Errorf("%d: %v", n, err)
			}
			if record, err := job.Get(t.Context()); err != nil || record.Result != nil {
				t.Errorf("%d: the result is %s, %v", n, record.Result, err)
			}
		}
	})
}

// TestOptionsInOne: a bundle applies in its place, and tells what is wrong with it.
func TestOptionsInOne(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		hf := openOn(t, source)
		bundle := holdfast.Options(holdfast.Priority(1), holdfast.Queue("bundled"), holdfast.Options(holdfast.Tags("a"), holdfast.MaxAttempts(3)))
		kind := holdfast.NewKind[int, int]("k", bundle, holdfast.Priority(3))
		job, err := kind.Enqueue(t.Context(), hf, 1, holdfast.Queue("q"), holdfast.Options())
		if err != nil {
			t.Fatal(err)
		}
		record, err := job.Get(t.Context())
		if err != nil || record.Priority != 3 || record.Queue != "q" || record.MaxAttempts != 3 || !slices.Equal(record.Tags, []string{"a"}) {
			t.Errorf("%+v, %v", record.Job, err)
		}
		for what, wrong := range map[string]holdfast.EnqueueOption{
			"nil": holdfast.Options(nil), "priority": holdfast.Options(holdfast.Tags("a"), holdfast.Priority(9)),
		} {
			if _, err := kind.Enqueue(t.Context(), hf, 1, wrong); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}
