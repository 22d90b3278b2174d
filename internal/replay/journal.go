package replay

import (
	"fmt"

	"github.com/holdfastdev/holdfast/internal/journal"
)

// visit notes that the code came past a path.
func (m *replayState) visit(path string) {
	if m.Visit(path) && m.Requests != nil {
		m.wakeAll() // requests may be accepted from now on
	}
}

// unvisited tells of the first entry that a run which has completed did not come past: its code no
// longer asks for it.
func (m *replayState) unvisited() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.notAskedFor()
}

// notAskedFor is unvisited for callers that hold the lock.
func (m *replayState) notAskedFor() string {
	first := m.Unvisited()
	if first == nil {
		return ""
	}
	return fmt.Sprintf("the code completed without asking for %s at place %s, which the journal has (entry %d)",
		journal.Describe(first.Kind, first.Name), first.Path, first.Seq)
}
