package meter

import (
	"testing"
	"time"
)

func TestParseProcess(t *testing.T) {
	const text = "812 (post) gres: x) S 700 812 812 0 -1 4194560 6060 0 0 0 150 25 300 4 20 0 1 0 1234 0 0"
	p, err := parseProcess(text)
	if err != nil {
		t.Fatal(err)
	}
	want := process{name: "post) gres: x", parent: 700, self: 1750 * time.Millisecond, waits: 3040 * time.Millisecond}
	if p != want {
		t.Errorf("got %+v, want %+v", p, want)
	}
	for _, text := range []string{"", "1 (x", "1 (x) S 2", "1 (x) S y 1 1 0 -1 0 0 0 0 0 1 1 1 1"} {
		if p, err := parseProcess(text); err == nil {
			t.Errorf("%q is a process: %+v", text, p)
		}
	}
}
