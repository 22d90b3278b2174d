package replay

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
)

// Callback is a wait for an outside system.
type Callback struct {
	Token string
	run   *Run
	name  string // for people
	path  string
	got   *store.Message
}

// OpenCallback makes a token that an outside system can answer to. It is durable when this returns.
func (s *Strand) OpenCallback(name string) (*Callback, error) {
	m, err := s.begin("run.Callback", name)
	if err != nil {
		return nil, err
	}
	defer s.end(m)
	path := s.reserve()
	// The token is the entry's name; what the code says is in its data.
	for _, e := range m.byPath[path] {
		if e.Kind != store.EntryCallback {
			continue
		}
		m.visit(path)
		return &Callback{Token: e.Name, run: s.run, name: name, path: path}, nil
	}
	s.at(m, path, "", store.EntryCallback)
	if err := s.mayBegin(m); err != nil {
		return nil, err
	}
	token := journal.NewToken(s.run.claimed.Job.ID)
	m.add(store.Entry{Kind: store.EntryCallback, Path: path, Name: token, Data: journal.Encode(journal.Callback{Name: name})})
	return &Callback{Token: token, run: s.run, name: name, path: path}, m.flush()
}

func (c *Callback) madeBy(r *Run) bool { return c != nil && c.run == r }

func (c *Callback) describe() string {
	if c == nil {
		return "a callback"
	}
	return fmt.Sprintf("callback %q", c.name)
}

func (c *Callback) ready(m *replayState, _ time.Time) bool { return c.message(m) != nil }

func (c *Callback) message(m *replayState) *store.Message {
	for i := range m.messages {
		msg := &m.messages[i]
		if msg.Name == c.Token && (msg.Kind == store.MessageCallback || msg.Kind == store.MessageCallbackFailed) {
			return msg
		}
	}
	return nil
}

func (c *Callback) pause(*replayState) blockedOn {
	return blockedOn{
		kinds: store.MessagesOf(store.MessageCallback, store.MessageCallbackFailed, store.MessageHeartbeat), what: "callback " + c.name,
	}
}

func (c *Callback) set(msg *store.Message) { c.got = msg }

func (*Callback) decode(*store.Message) func([]byte) error { return nil } // a choice is decoded by who asks for its result

func (c *Callback) failed(problem *MessageError) { problem.Callback = c.name }

// callbackWait is a wait for one callback.
type callbackWait struct {
	*Callback

	into func([]byte) error
}

func (w *callbackWait) decode(msg *store.Message) func([]byte) error {
	if msg.Kind == store.MessageCallbackFailed {
		return nil // there is nothing to decode
	}
	return w.into
}

// AwaitCallback waits for the answer to a callback, and decodes what it was completed with, unless
// decode is nil. A heartbeat lets the time limit start over.
func (s *Strand) AwaitCallback(c *Callback, limit Limit, decode func([]byte) error) (*store.Message, error) {
	m, err := s.begin("Callback.Wait", "")
	if err != nil {
		return nil, err
	}
	defer s.end(m)
	if err := s.own(m, c); err != nil {
		return nil, err
	}
	path, entries := s.enter(m, "", store.EntryReceived, store.EntryTimer, store.EntryTimeout)
	if limit.Set && limit.Until.IsZero() {
		for i := range m.messages {
			if msg := &m.messages[i]; msg.Kind == store.MessageHeartbeat && msg.Name == c.Token {
				limit.Until = msg.At.Add(limit.Within)
			}
		}
	}
	return s.receive(m, path, "", entries, &callbackWait{c, decode}, limit)
}

// Answer is the message that has answered the callback, once it was waited for or chosen.
func (c *Callback) Answer() *store.Message { return c.got }
