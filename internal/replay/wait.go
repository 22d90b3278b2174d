package replay

import (
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
)

// ErrWaitTimeout is what a wait returns when its time limit is over.
var ErrWaitTimeout = errors.New("holdfast: wait timed out")

// until waits for a time.
func (s *Strand) until(m *replayState, at time.Time, what func() string) error {
	now := s.run.host.Now
	return s.await(m, func() bool { return !now().Before(at) }, func() blocked.On { return blocked.On{Until: at, What: what()} })
}

// begun returns when the timer at a path ends, which is decided when it is first asked for.
func (s *Strand) begun(m *replayState, path, name string, entries []*store.Entry, limit await.Limit) (time.Time, error) {
	for _, e := range entries {
		if e.Kind == store.EntryTimer {
			var t journal.Timer
			err := journal.Decode(e, &t)
			return t.Until, err
		}
	}
	at := limit.EndsAt(s.run.host.Now())
	if err := (&store.Wait{Until: at}).CheckTime(s.run.claimed.Job.ID); err != nil {
		return time.Time{}, err
	}
	m.Record(store.Entry{Kind: store.EntryTimer, Path: path, Name: name, Data: journal.Encode(journal.Timer{Until: at})})
	return at, nil
}

// waitFor waits for one thing that needs no decision: a timer, or a strand.
func (s *Strand) waitFor(m *replayState, a await.Thing) error {
	now := s.run.host.Now
	return s.await(m, func() bool { return a.IsReady(&m.Memory, now()) }, a.Blocked)
}
