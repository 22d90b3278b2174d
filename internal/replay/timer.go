package replay

import (
	"time"

	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/store"
)

// Sleep waits durably.
func (s *Strand) Sleep(limit Limit) error {
	m, err := s.begin("run.Sleep", "")
	if err != nil {
		return err
	}
	defer s.end(m)
	t, err := s.timer(m, limit)
	if err != nil {
		return err
	}
	if last, _ := m.LastPlace(s.prefix); s.place < last {
		return nil // the run has gone on from it before, whatever the clock says now
	}
	return s.waitFor(m, t)
}

// Timer is a time that was fixed in the journal.
type Timer struct {
	run *Run
	at  time.Time
}

// Timer begins a timer.
func (s *Strand) Timer(limit Limit) (*Timer, error) {
	m, err := s.begin("run.Timer", "")
	if err != nil {
		return nil, err
	}
	defer s.end(m)
	return s.timer(m, limit)
}

// timer begins a timer.
func (s *Strand) timer(m *replayState, limit Limit) (*Timer, error) {
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
	return &Timer{s.run, at}, nil
}

func (t *Timer) madeBy(r *Run) bool { return t != nil && t.run == r }

func (t *Timer) describe() string { return "a timer" }

func (t *Timer) ready(_ *replayState, now time.Time) bool { return !now.Before(t.at) }

func (t *Timer) pause(*replayState) blocked.On {
	return blocked.On{Until: t.at, What: "timer until " + t.at.UTC().Format(time.RFC3339)}
}
