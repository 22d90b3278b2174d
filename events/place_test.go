package events

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestPlaceIsKept: a place is the same after it was kept as its text, and one of numbers alone, as
// they once were, is one too.
func TestPlaceIsKept(t *testing.T) {
	t.Parallel()
	entry, message := mark{seq: 12, at: 1, of: 2, kind: "step", name: "1"}, mark{seq: 3, at: 1, kind: "signal", name: "go"}
	var both, one Place
	both.toEntry(entry)
	both.toMessage(message)
	one.toMessage(message)
	for _, p := range []Place{{}, {Entry: 12, Message: 3}, one, both} {
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var got Place
		if err := json.Unmarshal(data, &got); err != nil || got != p {
			t.Errorf("%v is kept as %s, and read as %v, %v", p, data, got, err)
		}
	}
	if p, err := ParsePlace("12-3"); err != nil || p != (Place{Entry: 12, Message: 3}) {
		t.Errorf("12-3 is %v, %v", p, err)
	}
	if one.toMessage(mark{}); one != (Place{}) {
		t.Errorf("at the beginning the place is %v", one)
	}
}

// FuzzParsePlace: whatever text a reader comes back with is refused, or means exactly one place.
func FuzzParsePlace(f *testing.F) {
	for _, text := range []string{
		"", "12-3", "0-0", "12-3-1z141z3-0", "0-3-0-3w5e11264sgsf", "12-3-0-0", "1-2-3", "1-2-3-4-5", "-1-1", "+1-2", "01-2",
		"1-2-A-b", "1-2-_1-0", "9223372036854775808-1", "1-2-3w5e11264sgsg-0", "1--2", "a-\n", "\x00",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePlace(text)
		switch {
		case err != nil && (p != Place{} || !errors.Is(err, store.ErrInvalid)):
			t.Errorf("%q is refused, and is %v, %v", text, p, err)
		case err == nil && (p.Entry < 0 || p.Message < 0 || text != "" && p.String() != text):
			t.Errorf("%q is taken for %v", text, p)
		}
	})
}
