package app

import (
	"context"
	"fmt"
	"testing"

	"github.com/holdfastdev/holdfast"
)

// TestInterruptedIsNoFault: after Ctrl-C the error does not suggest checking the database.
func TestInterruptedIsNoFault(t *testing.T) {
	t.Parallel()
	for _, ended := range []error{
		fmt.Errorf("%w: %w", ErrInterrupted, context.Canceled),
		fmt.Errorf("%w %w", ErrInterrupted, context.Canceled),
		fmt.Errorf("%w: waiting for job 7: %w", ErrInterrupted, context.Canceled),
	} {
		if got := Explain(ended); got != "interrupted" && got != "interrupted: waiting for job 7" {
			t.Errorf("%v becomes %q", ended, got)
		}
	}
	lost := fmt.Errorf("%w: gave up waiting for the commit: %w", holdfast.ErrUnavailable, ErrInterrupted)
	if got, want := Explain(lost), "database unavailable: gave up waiting for the commit: interrupted"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if code := ExitCode(WorkFailed(lost)); code != ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
}
