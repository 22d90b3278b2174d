//go:build soak

package faults_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// Without faults the decorator changes nothing. The random sequences of other stores go through it
// themselves, with faults.
func TestConformance(t *testing.T) {
	storetest.Run(t, func(_ *testing.T, clock *storetest.Clock) store.Store {
		return faults.Wrap(model.New(clock.Now), nil)
	}, "Large", "Property", "Slots")
}
