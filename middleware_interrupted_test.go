package holdfast_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestInterruptionsOnDatabases: the same on a real clock, in a step that is interrupted.
func TestInterruptionsOnDatabases(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		interrupt func(hf *holdfast.Client, id holdfast.ID) error
		want      string
	}{
		"shutdown": {func(hf *holdfast.Client, _ holdfast.ID) error { return hf.Stop(context.Background()) }, "shutdown 1"},
		"terminate": {func(hf *holdfast.Client, id holdfast.ID) error {
			_, err := hf.Terminate(context.Background(), "enough", id)
			return err
		}, "lease lost 1"},
		"pause": {func(hf *holdfast.Client, id holdfast.ID) error {
			_, err := hf.Pause(context.Background(), "look first", id)
			return err
		}, "parked 1"},
		"cancel": {cancel, "error 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onDatabases(t, func(t *testing.T, source store.Source) {
				var m counts
				hf := openOn(t, source, holdfast.WithMiddleware(m.measure), holdfast.WithStopTimeout(time.Millisecond))
				kind := holdfast.NewKind[int, int]("interrupted")
				began := make(chan struct{}, 1)
				err := kind.Handle(hf, func(run *holdfast.Run, _ int) (int, error) {
					for {
						err := holdfast.Do(run, "step", func(ctx context.Context) error {
							select {
							case began <- struct{}{}:
							default:
							}
							select {
							case <-ctx.Done():
							case <-time.After(10 * time.Millisecond): // the run is paused between two steps
							}
							return ctx.Err()
						})
						if err != nil {
							return 0, err
						}
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				run(t, hf)
				job, err := kind.Enqueue(t.Context(), hf, 0)
				if err != nil {
					t.Fatal(err)
				}
				<-began
				if err := c.interrupt(hf, job.ID); err != nil {
					t.Fatal(err)
				}
				eventually(t, "it is told", func() bool { return m.String() == c.want })
			})
		})
	}
}
