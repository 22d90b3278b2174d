package await

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/internal/memory"
	"github.com/holdfastdev/holdfast/internal/usercode"
)

// Future is what a strand returns.
type Future struct {
	Name string // the strand's, for people
	By   any    // the run that the strand is of

	Done  bool // the strand has returned
	Late  bool // the run was ending then, and perhaps it has returned because of that
	Value any
	Err   error
}

// IsOf reports whether the strand is one of the run's.
func (f *Future) IsOf(run any) bool { return f != nil && f.By == run }

// Describe names it in messages.
func (f *Future) Describe() string {
	if f == nil {
		return "a future"
	}
	return fmt.Sprintf("the future of %q", f.Name)
}

// IsReady reports whether the strand has returned.
func (f *Future) IsReady(*memory.Memory, time.Time) bool { return f.Done }

// Blocked is what a strand waits for that waits for it.
func (f *Future) Blocked() blocked.On { return blocked.On{Strand: true, What: "strand " + f.Name} }

// Panic is the panic of the strand, or nil.
func (f *Future) Panic() *usercode.PanicError {
	p, _ := f.Err.(*usercode.PanicError) //nolint:errorlint // it is never wrapped
	return p
}
