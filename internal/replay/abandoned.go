package replay

import (
	"log/slog"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/usercode"
)

// panicked notes the panic of a strand that nobody has awaited yet.
func (m *memory) panicked(f *Future) {
	m.abandoned = append(m.abandoned, f)
	if m.concluded {
		m.tellAbandoned()
	}
}

// abandonedPanic takes one of the panics that nobody has awaited: it is one of the handler, which has returned.
func (m *memory) abandonedPanic() *usercode.PanicError {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.abandoned) == 0 {
		return nil
	}
	first := m.abandoned[0]
	m.abandoned = m.abandoned[1:]
	return first.panic()
}

// tellAbandoned tells of the panics that nobody will await any more: the run ends for another reason, or is parked.
func (m *memory) tellAbandoned() {
	for _, f := range m.abandoned {
		p := f.panic()
		m.run.host.Say(slog.LevelError, "a function started with holdfast.Go panicked, and nobody has awaited it",
			slog.String(logs.KeyStrand, f.name), slog.Any(logs.KeyError, panicText{p}), slog.String(logs.KeyStack, usercode.CutTrace(p.Stack)))
	}
	m.abandoned = nil
}

// panicText is what a panic says. That is the user's code: it is called when the line is written, and not with the memory's lock.
type panicText struct{ p *usercode.PanicError }

func (t panicText) LogValue() slog.Value { return slog.StringValue(usercode.CutError(t.p.Error())) }
