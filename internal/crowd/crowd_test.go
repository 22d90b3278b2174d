package crowd

import "testing"

// TestAlone: who has waited for a condition goes on alone until its next operation.
func TestAlone(t *testing.T) {
	var c Crowd[string]
	c.Code()
	c.Wait()
	if c.HasSettled() || c.IsQuiet() || c.IsKept("b") {
		t.Error("a strand is in its code")
	}
	if c.Operate("a") || !c.HasSettled() || c.HasSettled() || !c.IsQuiet() {
		t.Error("it has left it: that is told once")
	}
	c.Done()
	c.Alone("a")
	c.Code()
	if c.IsKept("a") || !c.IsKept("b") {
		t.Error("a goes on, and b does not")
	}
	if c.Code(); c.Operate("b") || !c.IsKept("b") {
		t.Error("a is still alone")
	}
	if !c.Operate("a") || c.IsKept("b") || c.Waits() {
		t.Error("b goes on")
	}
	c.Alone("a")
	if c.Code(); c.Operate("a") {
		t.Error("none was kept")
	}
}
