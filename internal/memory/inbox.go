package memory

import "github.com/holdfastdev/holdfast/store"

// Receive takes in the messages, if they are more than are known.
func (m *Memory) Receive(messages []store.Message) {
	if len(messages) <= len(m.messages) {
		return
	}
	m.messages = messages
	for i := range messages {
		if msg := &messages[i]; msg.Kind == store.MessageChild {
			Put(&m.answers, msg.From, msg)
		}
	}
}

// Seen is the Seq of the last message that is known.
func (m *Memory) Seen() int64 {
	if n := len(m.messages); n > 0 {
		return m.messages[n-1].Seq
	}
	return 0
}

// Message returns the message with a number, or nil.
func (m *Memory) Message(seq int64) *store.Message {
	return m.first(func(msg *store.Message) bool { return msg.Seq == seq })
}

// Signal returns the first signal of a name that was not received, or nil.
func (m *Memory) Signal(name string) *store.Message {
	return m.first(func(msg *store.Message) bool {
		return msg.Kind == store.MessageSignal && msg.Name == name && !m.received[msg.Seq]
	})
}

// Callback returns the answer to a callback, or nil.
func (m *Memory) Callback(token string) *store.Message {
	return m.first(func(msg *store.Message) bool {
		return msg.Name == token && (msg.Kind == store.MessageCallback || msg.Kind == store.MessageCallbackFailed)
	})
}

// Heartbeat returns the last heartbeat of a callback, or nil.
func (m *Memory) Heartbeat(token string) (last *store.Message) {
	for i := range m.messages {
		if msg := &m.messages[i]; msg.Kind == store.MessageHeartbeat && msg.Name == token {
			last = msg
		}
	}
	return last
}

func (m *Memory) first(is func(*store.Message) bool) *store.Message {
	for i := range m.messages {
		if msg := &m.messages[i]; is(msg) {
			return msg
		}
	}
	return nil
}

// Answer returns the last answer of a child, or nil.
func (m *Memory) Answer(child store.ID) *store.Message { return m.answers[child] }

// Settled returns the failure of the child at a path that the journal remembers, or nil.
func (m *Memory) Settled(path string) *store.Message {
	for _, e := range m.byPath[path] {
		if e.Kind == store.EntryReceived {
			return m.Message(e.Ref)
		}
	}
	return nil
}

// Take notes that a message is received.
func (m *Memory) Take(seq int64) { Put(&m.received, seq, true) }

// PutBack notes that a message is not received, after all.
func (m *Memory) PutBack(seq int64) { delete(m.received, seq) }
