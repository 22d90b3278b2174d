package lists

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var countTests = env.Tests{
	"a_count_of_everything": countAll,
}

func countAll(e *env.Env) {
	someOfAll(e)
	byState := 0
	for _, state := range store.States {
		n := e.Count(store.Filter{States: []store.State{state}})
		if want := len(e.List(store.Filter{States: []store.State{state}}, 100)); n != want {
			e.Errorf("%d %s jobs are counted, and %d listed", n, state, want)
		}
		byState += n
	}
	if n := e.Count(store.Filter{}); n != byState || n != len(e.List(store.Filter{}, 100)) {
		e.Errorf("%d jobs are counted, and %d by their states", n, byState)
	}
	soon := store.Filter{RunAfter: e.Clock.Now(), RunBefore: e.Clock.Now().Add(2 * time.Hour)}
	if n := e.Count(soon); n != len(e.List(soon, 100)) || n == 0 {
		e.Errorf("%d jobs that are due soon are counted, and %d listed", n, len(e.List(soon, 100)))
	}
}
