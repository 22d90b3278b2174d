package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
)

// TestStepsThatAreTriedAgain: each option about retries makes the step retry.
func TestStepsThatAreTriedAgain(t *testing.T) {
	t.Parallel()
	always := func(error) bool { return true }
	for name, c := range map[string]struct {
		opts []holdfast.StepOption
		want int64
	}{
		"no option":              {nil, 1},
		"a timeout":              {[]holdfast.StepOption{holdfast.Timeout(time.Minute)}, 1},
		"a backoff":              {[]holdfast.StepOption{holdfast.Backoff(time.Second, time.Second)}, 25},
		"an error to be retried": {[]holdfast.StepOption{holdfast.RetryIf(always)}, 25},
		"another error":          {[]holdfast.StepOption{holdfast.RetryIf(func(error) bool { return false })}, 1},
		"attempts":               {[]holdfast.StepOption{holdfast.MaxAttempts(3)}, 3},
		"attempts and a backoff": {[]holdfast.StepOption{holdfast.Backoff(time.Second, time.Second), holdfast.MaxAttempts(1)}, 1},
		"attempts and errors":    {[]holdfast.StepOption{holdfast.MaxAttempts(2), holdfast.RetryIf(always)}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFlow(t, func(t *testing.T, f *flow) {
				var calls atomic.Int64
				job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
					_, err := holdfast.Step(run, "flaky", func(context.Context) (int, error) {
						calls.Add(1)
						return 0, errors.New("not yet")
					}, c.opts...)
					var failure *holdfast.StepError
					if !errors.As(err, &failure) {
						return 0, err
					}
					return failure.Attempts, nil
				})
				if got := result(f, job); int64(got) != c.want || calls.Load() != c.want {
					t.Errorf("%d attempts, %d calls; want %d", got, calls.Load(), c.want)
				}
			})
		})
	}
	inFlow(t, func(t *testing.T, f *flow) {
		job := begin(f, 0, func(run *holdfast.Run, _ int) (string, error) {
			_, err := holdfast.Step(run, "flaky", func(context.Context) (int, error) { return 1, nil }, holdfast.RetryIf(nil))
			if !errors.Is(err, holdfast.ErrInvalid) {
				return "", fmt.Errorf("RetryIf of nothing: %w", err)
			}
			return err.Error(), nil
		})
		if got := result(f, job); got != "step flaky: holdfast: invalid request: RetryIf: its function must not be nil" {
			t.Error(got)
		}
	})
}
