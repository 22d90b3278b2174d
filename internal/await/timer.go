package await

import (
	"time"

	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/internal/memory"
)

// Timer is a time that was fixed in the journal.
type Timer struct {
	Until time.Time
	By    any // the run that has made it
}

// IsOf reports whether the run has made it.
func (t *Timer) IsOf(run any) bool { return t != nil && t.By == run }

// Describe names it in messages.
func (t *Timer) Describe() string { return "a timer" }

// IsReady reports whether the time has come.
func (t *Timer) IsReady(_ *memory.Memory, now time.Time) bool { return !now.Before(t.Until) }

// Blocked is what a strand waits for that waits for it.
func (t *Timer) Blocked() blocked.On {
	return blocked.On{Until: t.Until, What: "timer until " + t.Until.UTC().Format(time.RFC3339)}
}
