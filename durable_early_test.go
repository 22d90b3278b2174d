package holdfast_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestRunThatEndsBeforeItsFirstOperation: the children of earlier runs are not forgotten.
func TestRunThatEndsBeforeItsFirstOperation(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]struct {
		early func() (int, error)
		state store.State // of the parent
		child store.State
	}{
		"fails":     {func() (int, error) { return 0, holdfast.Fail(errors.New("no")) }, store.Failed, store.Cancelled},
		"panics":    {func() (int, error) { panic("no") }, store.Failed, store.Cancelled},
		"gives up":  {func() (int, error) { return 0, errors.New("no") }, store.Failed, store.Cancelled},
		"cancels":   {func() (int, error) { return 0, holdfast.Cancel("no") }, store.Cancelled, store.Cancelled},
		"completes": {func() (int, error) { return 1, nil }, store.Waiting, store.Waiting}, // its journal contradicts this
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFlow(t, func(t *testing.T, f *flow) {
				child := sleeper(f)
				var runs atomic.Int64
				var started atomic.Value
				job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
					if runs.Add(1) > 1 {
						return end.early()
					}
					c, err := child.Start(run, 0)
					if err != nil {
						return 0, err
					}
					started.Store(c.ID)
					return 0, errors.New("once more")
				}, holdfast.MaxAttempts(2))
				time.Sleep(time.Hour)
				record, err := job.Get(t.Context())
				if err != nil || record.State != end.state {
					t.Fatalf("the parent is %v (%s: %s), %v", record.State, record.Reason, record.Error, err)
				}
				id, _ := started.Load().(holdfast.ID)
				if record, err := f.hf.Get(t.Context(), id); err != nil || record.State != end.child {
					t.Errorf("its child is %v, %v", record.State, err)
				}
			})
		})
	}
}

// TestChildrenOfAnEarlierGeneration: they are closed when the job finally ends.
func TestChildrenOfAnEarlierGeneration(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		child := sleeper(f)
		var started atomic.Value
		job := begin(f, 0, func(run *holdfast.Run, round int) (int, error) {
			switch round {
			case 0:
				c, err := child.Start(run, 0)
				if err != nil {
					return 0, err
				}
				started.Store(c.ID)
			case 2:
				return 1, run.Sleep(time.Minute)
			}
			return 0, continueAsNew(run, round+1)
		})
		time.Sleep(time.Second)
		id, _ := started.Load().(holdfast.ID)
		if record, err := f.hf.Get(t.Context(), id); err != nil || record.State != store.Waiting {
			t.Fatalf("the child is %v, %v", record.State, err)
		}
		result(f, job)
		time.Sleep(time.Minute)
		if record, err := f.hf.Get(t.Context(), id); err != nil || record.State != store.Cancelled {
			t.Errorf("the child of the first generation is %v, %v", record.State, err)
		}
	})
}

// sleeper is a kind whose jobs sleep for a very long time.
func sleeper(f *flow) holdfast.Kind[int, int] {
	f.t.Helper()
	kind := holdfast.NewKind[int, int]("sleeper")
	err := kind.Handle(f.hf, func(run *holdfast.Run, _ int) (int, error) { return 0, run.Sleep(1000 * time.Hour) })
	if err != nil {
		f.t.Fatal(err)
	}
	return kind
}
