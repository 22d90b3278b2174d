//go:build soak

package model_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// The model passes the suite that it helps to define. It is also how the suite itself is tested.
func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store {
		s := model.New(clock.Now)
		t.Cleanup(func() { _ = s.Close() })
		return s
	})
}
