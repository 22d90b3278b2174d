package slots

import "testing"

// TestNothingIsClaimedWhileTooManyOutcomesAreAside: neither by claims nor by enqueues. The one that
// brings the number below the limit resumes claiming.
func TestNothingIsClaimedWhileTooManyOutcomesAreAside(t *testing.T) {
	b := newBed(t, 4)
	b.empty()
	for range 9 {
		b.PutAside()
	}
	b.expect("with 9 outcomes aside", 4)
	for range 2 {
		b.PutAside()
		b.expect("with 10 or more", 0)
		if b.MayStart(b.now) || b.Reserve(enqueues(""), b.now) != 0 {
			t.Error("an enqueue starts its job")
		}
	}
	for n := int64(11); n > 0; n-- {
		if aside, tooMany := b.Aside(); aside != n || tooMany != (n >= 10) {
			t.Errorf("%d outcomes are aside, want %d; they are too many: %t", aside, n, tooMany)
		}
		if resumes := b.CameBack(); resumes != (n == 10) {
			t.Errorf("claiming resumes with outcome %d: %t", n, resumes)
		}
	}
	b.expect("with none aside", 4)
	if !b.MayStart(b.now) {
		t.Error("no enqueue starts its job")
	}
}
