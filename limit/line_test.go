package limit

import (
	"context"
	"testing"

	"github.com/holdfastdev/holdfast/internal/engine"
)

// TestNothingIsLeftOfALine: whoever leaves a line, from its front or from behind, nothing is kept
// of one in which nobody is.
func TestNothingIsLeftOfALine(t *testing.T) {
	at := place{engine: &engine.Engine{}, name: "l"}
	first, err := enter(t.Context(), at, 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := enter(ctx, at, 1); err == nil {
		t.Error("two are in front")
	}
	first.leave(at)
	linesMu.Lock()
	defer linesMu.Unlock()
	if l := lines[at]; l != nil {
		t.Errorf("there is a line of %d callers", l.callers)
	}
}
