package system_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/holdfastdev/holdfast/bench/internal/system"
)

func TestCounter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c system.Counter
		c.Add(5)
		if err := c.Wait(t.Context(), 5, nil); err != nil {
			t.Errorf("waiting for what was there: %v", err)
		}
		done := make(chan error, 1)
		go func() { done <- c.Wait(t.Context(), 8, nil) }()
		synctest.Wait()
		c.Add(2)
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("it has not waited for the eighth: %v", err)
		default:
		}
		c.Add(2)
		if err := <-done; err != nil || c.Count() != 9 {
			t.Errorf("%v, and it counted %d", err, c.Count())
		}
	})
}

func TestCounterEnds(t *testing.T) {
	broken := errors.New("broken")
	ended := make(chan error, 1)
	ended <- broken
	var c system.Counter
	if err := c.Wait(t.Context(), 1, ended); !errors.Is(err, broken) {
		t.Errorf("the worker ended with %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Wait(ctx, 1, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("the context ended with %v", err)
	}
}
