package await

import (
	"time"

	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/internal/memory"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// Signal is the next signal of a name. It is a Receiver.
type Signal struct {
	Name   string
	Decode func(data []byte) error // what it has received; nil: it is not decoded
}

// IsOf reports whether there is one: any run may wait for it.
func (g *Signal) IsOf(any) bool { return g != nil }

// Describe names it in messages.
func (g *Signal) Describe() string { return "a wait for a signal" }

// Message is the first signal of the name that was not received.
func (g *Signal) Message(m *memory.Memory) *store.Message { return m.Signal(g.Name) }

// IsReady reports whether it has arrived.
func (g *Signal) IsReady(m *memory.Memory, _ time.Time) bool { return g.Message(m) != nil }

// Blocked is what a strand waits for that waits for it.
func (g *Signal) Blocked() blocked.On {
	return blocked.On{Kinds: store.MessagesOf(store.MessageSignal), What: "signal " + g.Name}
}

// Receive does nothing: Decode has put it where it belongs.
func (g *Signal) Receive(*store.Message) {}

// Decoder is Decode.
func (g *Signal) Decoder(*store.Message) func([]byte) error { return g.Decode }

// Failed names the signal.
func (g *Signal) Failed(problem *usercode.MessageError) { problem.Signal = g.Name }
