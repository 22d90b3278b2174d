package replay

import (
	"errors"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/store"
)

// Receive waits for a signal. ErrWaitTimeout is its answer when the limit is over.
func (s *Strand) Receive(g *await.Signal, limit await.Limit) (*store.Message, error) {
	return s.receiveAs("Signal.Wait", g, limit)
}

func (s *Strand) receiveAs(verb string, g *await.Signal, limit await.Limit) (*store.Message, error) {
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
func (s *Strand) TryReceive(g *await.Signal) (*store.Message, error) {
	got, err := s.receiveAs("Signal.TryReceive", g, await.Limit{Set: true})
	if errors.Is(err, ErrWaitTimeout) {
		return nil, nil
	}
	return got, err
}
