package sqlite_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/store/sqlite"
)

// TestAClaimThatFailsHasNothing: one whose number was used, as by a server that works for a worker
// beside another one, does not tell of jobs that it has not claimed.
func TestAClaimThatFailsHasNothing(t *testing.T) {
	s := open(t, sqlite.File(file(t)))
	node := join(t, s)
	must(t, enqueue(t.Context(), s, 2))
	if first, err := claim(t.Context(), s, node, 1, 1); err != nil || len(first) != 1 {
		t.Fatalf("%v, %v", first, err)
	}
	if again, err := claim(t.Context(), s, node, 1, 1); err == nil || len(again) != 0 {
		t.Errorf("with a number that was used: %v, %v", again, err)
	}
}
