package replay

import (
	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/store"
)

// Sleep waits durably.
func (s *Strand) Sleep(limit await.Limit) error {
	m, err := s.begin("run.Sleep", "")
	if err != nil {
		return err
	}
	defer s.end(m)
	t, err := s.timer(m, limit)
	if err != nil {
		return err
	}
	if last, _ := m.LastPlace(s.prefix); int(s.place) < last {
		return nil // the run has gone on from it before, whatever the clock says now
	}
	err = s.waitFor(m, t)
	s.fresh.Store(true) // nothing in the journal comes after it
	return err
}

// Timer begins a timer.
func (s *Strand) Timer(limit await.Limit) (*await.Timer, error) {
	m, err := s.begin("run.Timer", "")
	if err != nil {
		return nil, err
	}
	defer s.end(m)
	return s.timer(m, limit)
}

// timer begins a timer.
func (s *Strand) timer(m *replayState, limit await.Limit) (*await.Timer, error) {
	path, entries, err := s.arrive(m, "", store.EntryTimer)
	if err != nil {
		return nil, err
	}
	if entries == nil {
		if err := s.mayBegin(m); err != nil {
			return nil, err
		}
	}
	at, err := s.begun(m, path, "", entries, limit)
	if err != nil {
		return nil, err
	}
	return &await.Timer{Until: at, By: s.run}, nil
}
