package replay

import (
	"log/slog"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/usercode"
)

// panicked notes the panic of a strand that has not been awaited yet.
func (m *replayState) panicked(f *Future) {
	m.abandoned = append(m.abandoned, f)
	if m.concluded {
		m.tellAbandoned()
	}
}

// abandonedPanic takes one of the panics that were not awaited: it counts as one of the handler,
// which has returned.
func (m *replayState) abandonedPanic() *usercode.PanicError {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.abandoned) == 0 {
		return nil
	}
	first := m.abandoned[0]
	m.abandoned = m.abandoned[1:]
	return first.panic()
}

// tellAbandoned logs the panics that will not be awaited any more: the run ends for another reason,
// or is parked.
func (m *replayState) tellAbandoned() {
	for _, f := range m.abandoned {
		p := f.panic()
		m.run.host.Say(slog.LevelError, "a function started with holdfast.Go panicked, and nobody has awaited it",
			slog.String(logs.KeyStrand, f.name), slog.Any(logs.KeyError, panicText{p}), slog.String(logs.KeyStack, usercode.CutTrace(p.Stack)))
	}
	m.abandoned = nil
}

// panicText is what a panic says. That is the user's code: it is called when the line is written,
// and not with the state's lock.
type panicText struct{ p *usercode.PanicError }

func (t panicText) LogValue() slog.Value { return slog.StringValue(usercode.CutError(t.p.Error())) }
