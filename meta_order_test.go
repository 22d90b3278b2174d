package holdfast_test

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestTheLastWordStays: what the handler has stored with a checkpoint is not replaced by what it
// had said before, which a strand beside it stores with a step at the same moment.
func TestTheLastWordStays(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx, hf := t.Context(), openOn(t, source)
		kind := holdfast.NewKind[int, int]("talks")
		err := kind.Handle(hf, func(run *holdfast.Run, n int) (int, error) {
			var over atomic.Bool
			beside, err := holdfast.Go(run, "beside", func(run *holdfast.Run) (int, error) {
				steps := 0
				for ; !over.Load() && steps < 20_000; steps++ {
					if _, err := holdfast.Step(run, fmt.Sprint("step ", steps), func(context.Context) (int, error) { return steps, nil }); err != nil {
						return 0, err
					}
				}
				return steps, nil
			})
			if err != nil {
				return 0, err
			}
			for i := range n {
				said := strconv.Itoa(i)
				if err := run.SetMetadata(phase{said}); err != nil {
					return 0, err
				}
				if err := run.SaveCheckpoint(i); err != nil {
					return 0, err
				}
				if r, err := hf.Get(run, run.ID()); err != nil || string(r.Metadata) != fmt.Sprintf(`{"phase":%q}`, said) {
					t.Errorf("it has stored %s, and is %s, %v", said, r.Metadata, err)
					break
				}
			}
			over.Store(true)
			return beside.Wait(run)
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, hf)
		job, err := kind.Enqueue(ctx, hf, 300)
		if err != nil {
			t.Fatal(err)
		}
		if steps, err := job.Wait(ctx); err != nil || steps == 0 {
			t.Fatal(steps, err)
		}
	})
}
