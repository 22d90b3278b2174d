package gates_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/store/internal/gates"
)

// TestNoneOvertakesWhatStillWaits: while jobs go on that wait at a gate which nothing bounds any
// more, later ones wait behind them, and all that wait go on.
func TestNoneOvertakesWhatStillWaits(t *testing.T) {
	g := gates.Gate{Unbounded: true, Heads: []gates.Place{{Priority: 2, RunAt: 10}, {Priority: 2, RunAt: 20}}}
	for _, c := range []struct {
		place gates.Place
		want  bool
	}{
		{gates.Place{Priority: 2, RunAt: 5}, true},
		{gates.Place{Priority: 1, RunAt: 30}, true},
		{gates.Place{Priority: 2, RunAt: 15}, false},
		{gates.Place{Priority: 3, RunAt: 1}, false},
	} {
		if got := g.Admit(c.place); got != c.want {
			t.Errorf("%+v: %v", c.place, got)
		}
	}
	if n := len(g.Released()); n != 2 {
		t.Errorf("%d go on", n)
	}
	none := gates.Gate{Unbounded: true}
	if !none.Admit(gates.Place{Priority: 9, RunAt: 99}) {
		t.Error("where none waits one does not run")
	}
}
