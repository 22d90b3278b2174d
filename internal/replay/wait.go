package replay

import (
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
)

// ErrWaitTimeout is what a wait returns when its time limit is over.
var ErrWaitTimeout = errors.New("holdfast: wait timed out")

// Limit is when a wait ends at the latest. The zero value means never.
type Limit struct {
	Within time.Duration // from the beginning of the wait
	Until  time.Time
	Set    bool
}

func (l Limit) at(now time.Time) time.Time {
	if !l.Until.IsZero() {
		return l.Until
	}
	return now.Add(max(l.Within, 0))
}

// until waits for a time.
func (s *Strand) until(m *replayState, at time.Time, what func() string) error {
	now := s.run.host.Now
	return s.await(m, func() bool { return !now().Before(at) }, func() blockedOn { return blockedOn{until: at, what: what()} })
}

// begun returns when the timer at a path ends, which is decided when it is first asked for.
func (s *Strand) begun(m *replayState, path, name string, entries []*store.Entry, limit Limit) (time.Time, error) {
	for _, e := range entries {
		if e.Kind == store.EntryTimer {
			var t journal.Timer
			err := journal.Decode(e, &t)
			return t.Until, err
		}
	}
	at := limit.at(s.run.host.Now())
	if err := (&store.Wait{Until: at}).CheckTime(s.run.claimed.Job.ID); err != nil {
		return time.Time{}, err
	}
	m.add(store.Entry{Kind: store.EntryTimer, Path: path, Name: name, Data: journal.Encode(journal.Timer{Until: at})})
	return at, nil
}

// waitFor waits for one thing that needs no decision: a timer, or a strand.
func (s *Strand) waitFor(m *replayState, a Awaitable) error {
	now := s.run.host.Now
	return s.await(m, func() bool { return a.ready(m, now()) }, func() blockedOn { return a.pause(m) })
}
