package replay

import (
	"github.com/holdfastdev/holdfast/store"
)

// remember returns the run's replay state, reading it if this is the first time.
func (r *Run) remember() (*replayState, error) {
	r.remembering.Lock()
	defer r.remembering.Unlock()
	if m := r.state.Load(); m != nil {
		return m, nil
	}
	m := &replayState{run: r, active: 1}
	m.flushed.L, m.strandEnded.L, m.evaluated.L = &m.mu, &m.mu, &m.mu
	r.main.fault = &m.fault
	if !r.main.over.Load() {
		m.join(&r.main)
	}
	m.unread = r.claimed.Lease.Number == 1 && !r.claimed.Durable
	if !m.unread {
		r.watch.Hold()
		journal, err := r.host.Journal(r.life.Lasting())
		r.watch.Release()
		if err != nil {
			return nil, store.About(r.claimed.Job.ID, "reading the journal of", err)
		}
		m.Index(journal)
	}
	m.mu.Lock()
	switch {
	case m.Closed != nil:
		m.ending = ErrClosing
	case r.ending != nil:
		m.ending = r.ending
	}
	m.held = r.pausing.Load()
	m.mu.Unlock()
	r.state.Store(m) // what ended before is not told of: the first operation looks
	return m, nil
}

// look reads the inbox if it was not read. It lets go of the lock meanwhile.
func (m *replayState) look() error {
	if !m.unread {
		return nil
	}
	return m.refresh()
}

// refresh reads the inbox again. It lets go of the lock meanwhile. Strands that wait for what has
// come are told: when the run parks, the store wakes it for what comes after that alone.
func (m *replayState) refresh() error {
	m.mu.Unlock()
	m.run.watch.Hold()
	journal, err := m.run.host.Journal(m.run.life.Lasting())
	m.run.watch.Release()
	m.mu.Lock()
	if m.exiting {
		m.exit()
	}
	if err != nil {
		return store.About(m.run.claimed.Job.ID, "reading the messages to", err)
	}
	m.unread = false
	seen := m.Seen()
	if m.Receive(journal.Messages); m.Seen() > seen {
		m.wakeAll()
	}
	return nil
}
