package declared

import "testing"

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		is, before, now string
		did             Did
		save            bool
	}{
		{"a", "a", "a", Unchanged, false},
		{"b", "a", "b", Unchanged, true}, // a person was faster
		{"a", "", "a", Unchanged, true},
		{"a", "a", "b", Updated, true},
		{"c", "a", "b", Kept, true},
		{"c", "b", "b", Kept, false},
		{"c", "", "b", Kept, true},
	} {
		if did, save := Judge(c.is, c.before, c.now); did != c.did || save != c.save {
			t.Errorf("%q, declared as %q and now as %q: %s, %t, want %s, %t", c.is, c.before, c.now, did, save, c.did, c.save)
		}
	}
}
