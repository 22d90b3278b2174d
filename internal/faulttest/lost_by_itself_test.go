package faulttest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestErrorThatIsALostLease lets handlers return errors that are an ErrLeaseLost of their own
// making: from a fence of the caller's own, or from what another run tried. Their leases live,
// so that their jobs are retried and fail like any other.
func TestErrorThatIsALostLease(t *testing.T) {
	t.Parallel()
	lost := func() error { return fmt.Errorf("the row belongs to a later run: %w", holdfast.ErrLeaseLost) }
	plain := holdfast.NewKind[int, int]("plain")
	durable := holdfast.NewKind[int, int]("durable")
	inStep := holdfast.NewKind[int, int]("in a step")
	inStrand := holdfast.NewKind[int, int]("in a strand")
	kinds := map[string]holdfast.Kind[int, int]{"plain": plain, "durable": durable, "in a step": inStep, "in a strand": inStrand}
	onEach(t, func(t *testing.T, db *database) {
		hf := db.open(t)
		// The args say from which attempt on it goes well.
		result := func(run *holdfast.Run, good int) (int, error) {
			if run.Attempt() < good {
				return 0, lost()
			}
			return run.Attempt(), nil
		}
		backoff := holdfast.Backoff(time.Millisecond, time.Millisecond)
		register(t, hf, plain, result, backoff)
		register(t, hf, durable, func(run *holdfast.Run, good int) (int, error) {
			if _, err := holdfast.Step(run, "one", func(context.Context) (int, error) { return 1, nil }); err != nil {
				return 0, err
			}
			return result(run, good)
		}, backoff)
		register(t, hf, inStep, func(run *holdfast.Run, good int) (int, error) {
			return holdfast.Step(run, "one", func(context.Context) (int, error) { return result(run, good) })
		}, backoff)
		register(t, hf, inStrand, func(run *holdfast.Run, good int) (int, error) {
			f, err := holdfast.Go(run, "beside", func(*holdfast.Run) (int, error) { return result(run, good) })
			if err != nil {
				return 0, err
			}
			return f.Wait(run)
		}, backoff)
		work(t, hf)
		again, never := map[string]holdfast.ID{}, map[string]holdfast.ID{}
		for name, kind := range kinds {
			again[name] = enqueue(t, hf, kind, 3).ID
			never[name] = enqueue(t, hf, kind, 3, holdfast.MaxAttempts(2)).ID
		}
		over := func() bool {
			for name := range kinds {
				if !get(t, hf, again[name]).State.Finished() || !get(t, hf, never[name]).State.Finished() {
					return false
				}
			}
			return true
		}
		comesTrue(patience, over)
		for name := range kinds {
			if r := get(t, hf, again[name]); r.State != store.Completed || r.Attempt != 3 {
				t.Errorf("%s, with attempts left: %s", name, told(r))
			}
			if r := get(t, hf, never[name]); r.State != store.Failed || r.Reason != store.ReasonAttemptsExhausted {
				t.Errorf("%s, without: %s", name, told(r))
			}
		}
	})
}
