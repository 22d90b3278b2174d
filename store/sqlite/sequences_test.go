//go:build soak

package sqlite_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/store/storetest"
)

// TestSequences draws random sequences of operations, other ones in each round of a soak.
func TestSequences(t *testing.T) { conform(t, 0, storetest.AllBut("Property", "Slots")...) }
