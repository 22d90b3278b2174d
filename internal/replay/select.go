package replay

import (
	"fmt"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
)

// Select waits for the first of several things and returns its index; of those that are ready at
// once the first in the list.
func (s *Strand) Select(all []await.Thing) (int, error) {
	m, err := s.begin("holdfast.Select", "")
	if err != nil {
		return 0, err
	}
	defer s.end(m)
	if err := s.own(m, all...); err != nil {
		return 0, err
	}
	path, entries, err := s.arrive(m, "", store.EntrySelected, store.EntryReceived)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if e.Kind == store.EntryReceived {
			continue
		}
		var chosen int
		if err := journal.Decode(e, &chosen); err != nil {
			return 0, err
		}
		if chosen >= len(all) {
			s.contradict(m, fmt.Sprintf("the code selects among %d things at place %s, where the journal (entry %d) has the choice of number %d",
				len(all), path, e.Seq, chosen+1))
		}
		return chosen, s.chose(m, path, entries, all[chosen])
	}
	if err := m.look(); err != nil {
		return 0, err
	}
	if err := s.decides(m); err != nil {
		return 0, err
	}
	now := s.run.host.Now
	chosen := -1
	err = s.await(m, func() bool {
		for i, a := range all {
			// The next attempt has to find the choice again.
			if f, ok := a.(*await.Future); a.IsReady(&m.Memory, now()) && (!ok || !f.Late) {
				chosen = i
				return true
			}
		}
		return false
	}, func() blocked.On { return await.First(all) })
	if err != nil {
		return 0, err
	}
	choice := store.Entry{Kind: store.EntrySelected, Path: path, Data: journal.Encode(chosen)}
	if r, ok := all[chosen].(await.Receiver); ok {
		_, err := s.take(m, r, path, &choice)
		return chosen, err
	}
	m.Record(choice)
	return chosen, nil
}

// chose gives a choice that is replayed what it received then.
func (s *Strand) chose(m *replayState, path string, entries []*store.Entry, a await.Thing) error {
	r, ok := a.(await.Receiver)
	for _, e := range entries {
		if ok && e.Kind == store.EntryReceived {
			_, err := s.receivedBefore(m, r, e)
			return err
		}
	}
	err := s.waitFor(m, a)
	if ok && err == nil {
		_, err = s.take(m, r, path, nil) // what it was to receive was not stored any more
	}
	return err
}
