package memory

import (
	"slices"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
)

// meetings are the conditions that the journal held at the start, which the code did not come past
// yet. What the strands share was then as it was where the others were: so each of them stays there
// until the one that waits for the condition has come, and has gone on.
type meetings struct {
	byPath map[string]*meeting
	places map[string]int // where others are to stay, and for how many meetings
}

type meeting struct {
	entry  *store.Entry
	others []string
}

// meet takes in the end of a wait for a condition.
func (m *meetings) meet(e *store.Entry) {
	if e.Kind != store.EntryAwaited && (e.Kind != store.EntryTimeout || len(e.Data) == 0) {
		return
	}
	var a journal.Awaited
	if journal.Decode(e, &a) != nil {
		return // whatever reads the entry says so
	}
	Put(&m.byPath, e.Path, &meeting{e, a.Others})
	for _, at := range a.Others {
		Put(&m.places, at, m.places[at]+1)
	}
}

// MayMeet reports whether there are meetings to come.
func (m *meetings) MayMeet() bool { return len(m.byPath) > 0 }

// StaysAt reports whether a strand that has come to a place stays there for a meeting.
func (m *meetings) StaysAt(place string) bool { return m.places[place] > 0 }

// IsAttended reports whether strands are where the meeting at a path wants all but its own.
func (m *meetings) IsAttended(path string, others []string) bool {
	one := m.byPath[path]
	if one == nil {
		return true
	}
	return !slices.ContainsFunc(others, func(at string) bool { return !slices.Contains(one.others, at) }) && len(others) == len(one.others)
}

// Met ends the meeting at a path.
func (m *meetings) Met(path string) {
	one := m.byPath[path]
	if one == nil {
		return
	}
	delete(m.byPath, path)
	for _, at := range one.others {
		m.places[at]--
	}
}

// NextMeeting returns the entry of the first meeting to come, or nil.
func (m *meetings) NextMeeting() (first *store.Entry) {
	for _, one := range m.byPath {
		if first == nil || one.entry.Seq < first.Seq {
			first = one.entry
		}
	}
	return first
}
