// Package turns notes when loops have last done their work, so that one that stands still is seen.
//
// It imports nothing of ours.
package turns

import (
	"maps"
	"sync"
	"time"
)

// Turns has the last turn of each loop. The zero value has none.
type Turns struct {
	mu sync.Mutex
	at map[string]time.Time
}

// Note notes a turn.
func (t *Turns) Note(loop string) {
	now := time.Now() // for people
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at == nil {
		t.at = map[string]time.Time{}
	}
	t.at[loop] = now
}

// Last returns the last turn of a loop; zero: there was none.
func (t *Turns) Last(loop string) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.at[loop]
}

// All returns the last turns, by loop.
func (t *Turns) All() map[string]time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.at)
}
