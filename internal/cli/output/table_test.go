package output

import (
	"bytes"
	"strings"
	"testing"
)

// TestTablesLineUp: also after empty last cells, and in the later parts of a long table.
func TestTablesLineUp(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := NewPrinter(&out, true)
	l := p.NewList("A", "B", "C")
	for i := range tableChunk + 2 {
		row := []string{"x", "é", "z"}
		switch i % 3 {
		case 1:
			row = []string{"longer", "", ""}
		case 2:
			row = []string{"", "", "z"}
		}
		if err := l.Add(nil, func() []string { return row }); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.End(); err != nil {
		t.Fatal(err)
	}
	_ = p.Flush()
	for i, line := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
		want := []string{"x       é  z", "longer", "           z"}
		if i > 0 && line != want[(i-1)%3] {
			t.Fatalf("line %d: %q", i, line)
		}
	}
}
