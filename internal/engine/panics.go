package engine

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/store"
)

// panicError is a panic of a user's function: a handler, a strand, a compensation.
type panicError struct {
	value any
	stack string
}

// panicOf is called with what was recovered, where it was. The panic of a strand stays that of the strand where it is awaited.
func panicOf(p any) *panicError {
	if e, ok := p.(*panicError); ok {
		return e
	}
	return &panicError{p, string(debug.Stack())}
}

func (e *panicError) Error() string { return panicText(e.value) }

// panicText is how a panic is told as an error.
func panicText(value any) string { return fmt.Sprintf(panicPrefix+"%v", value) }

const panicPrefix = "panic: "

// isPanic reports whether an outcome tells of a panic, and not of an error or of a handler that is stuck.
func isPanic(o *store.Outcome) bool { return o.Trace != "" && strings.HasPrefix(o.Error, panicPrefix) }

// panic is the panic of the strand, or nil.
func (f *Future) panic() *panicError {
	p, _ := f.err.(*panicError) //nolint:errorlint // it is never wrapped
	return p
}

// panicked notes the panic of a strand that nobody has awaited yet. m.mu is held.
func (m *memory) panicked(f *Future) {
	m.abandoned = append(m.abandoned, f)
	if m.concluded {
		m.tellAbandoned()
	}
}

// abandonedPanic takes one of the panics that nobody has awaited: it is one of the handler, which has returned.
func (m *memory) abandonedPanic() *panicError {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.abandoned) == 0 {
		return nil
	}
	first := m.abandoned[0]
	m.abandoned = m.abandoned[1:]
	return first.panic()
}

// tellAbandoned tells of the panics that nobody will await any more: the run ends for another reason, or is parked. m.mu is held.
func (m *memory) tellAbandoned() {
	for _, f := range m.abandoned {
		p, lines, run := f.panic(), m.run.node.lines, m.run.about()
		lines.Pen.Put(func() { // what panicked is the user's, and told without the lock
			lines.Say(slog.LevelError, run, "a function started with holdfast.Go panicked, and nobody has awaited it",
				slog.String(logs.KeyStrand, f.name), slog.String(logs.KeyError, cut(p.Error(), maxError)), slog.String(logs.KeyStack, cut(p.stack, maxTrace)))
		})
	}
	m.abandoned = nil
}
