package await

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/internal/memory"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// Callback is the answer of an outside system. It is a Receiver.
type Callback struct {
	Token string // by which the outside system answers
	Name  string // for people
	By    any    // the run that has made it
	got   *store.Message
}

// IsOf reports whether the run has made it.
func (c *Callback) IsOf(run any) bool { return c != nil && c.By == run }

// Describe names it in messages.
func (c *Callback) Describe() string {
	if c == nil {
		return "a callback"
	}
	return fmt.Sprintf("callback %q", c.Name)
}

// Message is the answer.
func (c *Callback) Message(m *memory.Memory) *store.Message { return m.Callback(c.Token) }

// IsReady reports whether it was answered.
func (c *Callback) IsReady(m *memory.Memory, _ time.Time) bool { return c.Message(m) != nil }

// Blocked is what a strand waits for that waits for it. A heartbeat does not wake it: when its time
// is over it looks whether there were some.
func (c *Callback) Blocked() blocked.On {
	return blocked.On{Kinds: store.MessagesOf(store.MessageCallback, store.MessageCallbackFailed), What: "callback " + c.Name}
}

// Receive keeps the answer.
func (c *Callback) Receive(msg *store.Message) { c.got = msg }

// Answer is the message that has answered the callback, once it was waited for or chosen.
func (c *Callback) Answer() *store.Message { return c.got }

// Decoder is nil: a choice is decoded by who asks for its result.
func (*Callback) Decoder(*store.Message) func([]byte) error { return nil }

// Failed names the callback.
func (c *Callback) Failed(problem *usercode.MessageError) { problem.Callback = c.Name }

// DecodedCallback is a callback whose answer is decoded when it is received.
type DecodedCallback struct {
	*Callback

	Decode func(data []byte) error // nil: it is not decoded
}

// Decoder is Decode, if there is something to decode.
func (c *DecodedCallback) Decoder(msg *store.Message) func([]byte) error {
	if msg.Kind == store.MessageCallbackFailed {
		return nil
	}
	return c.Decode
}
