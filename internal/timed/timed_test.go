package timed_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/timed"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// TestConformance: a store that is timed answers as it does without, and each operation is told of.
// What takes seconds in memory is left out.
func TestConformance(t *testing.T) {
	var told [timed.Operations]atomic.Int64
	t.Run("store", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store {
			s := model.New(clock.Now)
			t.Cleanup(func() { _ = s.Close() })
			return timed.Wrap(s, func(op timed.Operation, took time.Duration) {
				if told[op].Add(1); took < 0 {
					t.Errorf("%v took %v", op, took)
				}
			})
		}, slices.Concat([]string{"Large", "Property", "Slots", "Fair", "FairOrder", "DeadFilter", "GateRate"}, storetest.Races())...)
	})
	s := timed.Wrap(model.New(time.Now), func(op timed.Operation, _ time.Duration) { told[op].Add(1) })
	if err := s.EnqueueTx(t.Context(), nil, nil); err == nil { // which the suite of a store in memory does not call
		t.Error("an enqueue in no transaction has no error")
	}
	for op := range timed.Operation(timed.Operations) {
		if told[op].Load() == 0 {
			t.Errorf("nothing is told of %v", op)
		}
	}
}
