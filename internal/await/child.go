package await

import (
	"time"

	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/internal/memory"
	"github.com/holdfastdev/holdfast/store"
)

// Child is a job that a run has started, and its end.
type Child struct {
	ID   store.ID
	Kind string
	Path string // of the entry that remembers it
	By   any    // the run that has started it
}

// IsOf reports whether the run has started it.
func (c *Child) IsOf(run any) bool { return c != nil && c.By == run }

// Describe names it in messages.
func (c *Child) Describe() string {
	if c == nil {
		return "a child"
	}
	return "child " + c.ID.String()
}

// IsReady reports whether it has ended.
func (c *Child) IsReady(m *memory.Memory, _ time.Time) bool { return m.Answer(c.ID) != nil }

// Blocked is what a strand waits for that waits for it.
func (c *Child) Blocked() blocked.On {
	return blocked.On{Kinds: store.MessagesOf(store.MessageChild), What: "child " + c.ID.String() + " (" + c.Kind + ")"}
}
