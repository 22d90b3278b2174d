package await

import (
	"time"

	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/internal/memory"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// Thing is something that a strand can wait for.
type Thing interface {
	// IsReady reports whether it is there.
	IsReady(m *memory.Memory, now time.Time) bool
	// Blocked is what a strand waits for that waits for it.
	Blocked() blocked.On
	// IsOf reports whether a run may wait for it: the one that has made it, or any run if none has
	// to. It may be nil.
	IsOf(run any) bool
	// Describe names it in messages. It may be nil.
	Describe() string
}

// Receiver is a Thing that a message answers.
type Receiver interface {
	Thing
	// Message is the one that answers it, or nil.
	Message(m *memory.Memory) *store.Message
	// Receive is told which message it has received.
	Receive(msg *store.Message)
	// Decoder decodes what it receives; nil: that is not decoded.
	Decoder(msg *store.Message) func(data []byte) error
	// Failed says in the error of a message that does not decode what it was for.
	Failed(problem *usercode.MessageError)
}

// First is what a strand waits for that waits for the first of several things.
func First(things []Thing) blocked.On {
	on := make([]blocked.On, len(things))
	for i, thing := range things {
		on[i] = thing.Blocked()
	}
	return blocked.Any(on)
}
