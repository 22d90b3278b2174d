package slots

import "testing"

// TestQuiet: nothing may be claimed, nothing that comes gets a slot, and what waits is handed back,
// once.
func TestQuiet(t *testing.T) {
	b := newBed(t, 2)
	b.empty()
	start := b.admit("", 3)
	if len(start) != 2 {
		t.Fatalf("%d jobs have a slot", len(start))
	}
	if taken := b.SetQuiet(true); len(taken) != 1 {
		t.Errorf("%d jobs are handed back, want 1", len(taken))
	}
	if following, ok := b.end(start[0]); ok {
		t.Errorf("a slot goes to %v", following.Job.ID)
	}
	b.expect("while it is quiet", 0)
	if b.MayStart(b.now) || b.Reserve(enqueues(""), b.now) != 0 {
		t.Error("an enqueue starts its job")
	}
	if start := b.admit("", 2); len(start) != 0 {
		t.Errorf("%d jobs have got a slot", len(start))
	}
	if following, ok := b.end(start[1]); ok {
		t.Errorf("a slot goes to %v", following.Job.ID)
	}
	if taken := b.TakeRefused(); len(taken) != 2 {
		t.Errorf("%d jobs are handed back, want 2", len(taken))
	}
	b.admit("", 1)
	if taken := b.SetQuiet(false); len(taken) != 1 {
		t.Errorf("%d jobs are handed back when it ends, want 1", len(taken))
	}
	b.expect("when it has ended", 2+2)
	if start := b.admit("", 3); len(start) != 2 {
		t.Errorf("%d jobs have got a slot", len(start))
	}
	if taken := b.TakeRefused(); len(taken) != 0 {
		t.Errorf("%d jobs are handed back", len(taken))
	}
}
