package replay

import (
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// Signal is a wait for the next signal of a name.
type Signal struct {
	Name   string
	Decode func(data []byte) error // what it has received; nil: it is not decoded
	got    *store.Message
}

func (g *Signal) madeBy(*Run) bool { return g != nil }

func (g *Signal) describe() string { return "a wait for a signal" }

func (g *Signal) message(m *replayState) *store.Message { return m.Signal(g.Name) }

func (g *Signal) ready(m *replayState, _ time.Time) bool { return g.message(m) != nil }

func (g *Signal) pause(*replayState) blocked.On {
	return blocked.On{Kinds: store.MessagesOf(store.MessageSignal), What: "signal " + g.Name}
}

func (g *Signal) set(msg *store.Message) { g.got = msg }

func (g *Signal) decode(*store.Message) func([]byte) error { return g.Decode }

func (g *Signal) failed(problem *usercode.MessageError) { problem.Signal = g.Name }

// Receive waits for a signal. ErrWaitTimeout is its answer when the limit is over.
func (s *Strand) Receive(g *Signal, limit Limit) (*store.Message, error) {
	return s.receiveAs("Signal.Wait", g, limit)
}

func (s *Strand) receiveAs(verb string, g *Signal, limit Limit) (*store.Message, error) {
	m, err := s.begin(verb, g.Name)
	if err != nil {
		return nil, err
	}
	defer s.end(m)
	path, entries, err := s.arrive(m, g.Name, store.EntryReceived, store.EntryTimer, store.EntryTimeout)
	if err != nil {
		return nil, err
	}
	if err := m.look(); err != nil {
		return nil, err
	}
	if entries == nil {
		if err := s.roomFor(m); err != nil {
			return nil, err
		}
	}
	return s.receive(m, path, g.Name, entries, g, limit)
}

// TryReceive returns the next signal if it has arrived, or nil.
func (s *Strand) TryReceive(g *Signal) (*store.Message, error) {
	got, err := s.receiveAs("Signal.TryReceive", g, Limit{Set: true})
	if errors.Is(err, ErrWaitTimeout) {
		return nil, nil
	}
	return got, err
}
