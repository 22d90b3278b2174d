package operate

import (
	"sync"

	"github.com/holdfastdev/holdfast/store"
)

// rounds are how CloseChildren goes through the parents, and the predecessors of jobs that wait
// for them, for whom it has something to do: in portions, in the order of their ids. What callers'
// transactions hold is left as it is, so each portion begins after the one before, and a round
// ends with the last parent.
type rounds struct {
	mu                           sync.Mutex
	telling, closing, succeeding round
}

// round is where one of them is.
type round struct {
	after store.ID // the last parent that is behind it; zero: it is to begin
	did   bool     // it has done something of which more may come, also behind it
	over  bool     // it came to its end without that, while the other goes on
}

// after returns the parent after which a round goes on.
func (s *rounds) after(r *round) store.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.after
}

// pass lets a round go on after a parent, or end if that is zero.
func (s *rounds) pass(r *round, after store.ID, did bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.after, r.did = after, r.did || did
	r.over = r.over && !did
	if after == (store.ID{}) {
		r.over, r.did = !r.did, false
	}
}

// goOn reports whether one of the rounds is to go on. If not, all begin again the next time.
func (s *rounds) goOn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.telling.over && s.closing.over && s.succeeding.over {
		s.telling.over, s.closing.over, s.succeeding.over = false, false, false
		return false
	}
	return true
}
