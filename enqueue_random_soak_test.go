//go:build soak

package holdfast

import (
	"testing"

	"pgregory.net/rapid"
)

// TestRandomEnqueuesInSQL: whatever is enqueued, the function refuses what the library refuses, and
// writes what it writes, unique keys included.
func TestRandomEnqueuesInSQL(t *testing.T) {
	t.Parallel()
	b := newSQLBed(t)
	rapid.Check(t, func(r *rapid.T) { b.sameEnqueue(t.Context(), r) })
}
