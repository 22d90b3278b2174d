package memory

import (
	"iter"
	"strconv"
	"strings"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
)

// Memory is what a run remembers. Its maps are made with their first element: most runs need few of
// theirs.
type Memory struct {
	Closed   *store.Entry // the EntryClosing, if the end is decided
	Ended    *store.Entry // the EntryEnded, if a transaction of the handler's has ended the job
	Children bool         // there are children that the end of the run may have to close
	Accepted bool         // the journal has accepted requests
	Requests *Requests    // nil: the run handles none
	meetings

	Stored  int64 // Seq of the last entry in the database
	Entries int64 // how many there are, those to be stored included
	Bytes   int64 // what the entries weigh, those to be stored included

	byPath  map[string][]*store.Entry
	last    map[string]int   // of each strand's prefix the highest place that the journal held at the start
	begun   map[string]int64 // the same of what began there: see Reached
	visited map[string]bool
	behind  int // places that the journal held at the start, and the code did not come past yet
	patches map[string]bool
	seeds   map[string]uint64 // how many were derived

	messages []store.Message
	received map[int64]bool
	answers  map[store.ID]*store.Message

	pending  []store.Entry // what is to be stored with the next writes
	enqueues []*store.Enqueue
}

// Index takes in the journal and the inbox as they were read at the start.
func (m *Memory) Index(j store.Journal) {
	for i := range j.Entries {
		e := &j.Entries[i]
		m.Stored = e.Seq
		m.Account(e)
		m.note(e)
		m.meet(e)
		if e.Path == "" {
			continue
		}
		at := strings.LastIndexByte(e.Path, '.') + 1
		place, err := strconv.Atoi(e.Path[at:])
		if err != nil {
			m.begin(e.Path) // a request, or what compensates
			continue
		}
		prefix := e.Path[:at]
		if _, known := m.last[prefix]; !known && at > 0 {
			m.begin(prefix[:at-1])
		}
		Put(&m.last, prefix, max(m.last[prefix], place))
	}
	m.Receive(j.Messages)
}

// note takes an entry into the index.
func (m *Memory) note(e *store.Entry) {
	before := m.byPath[e.Path]
	Put(&m.byPath, e.Path, append(before, e))
	if before == nil && isPlace(e.Path) && !m.visited[e.Path] {
		m.behind++
	}
	switch e.Kind {
	case store.EntryReceived:
		m.Take(e.Ref)
	case store.EntryClosing:
		m.Closed = e
	case store.EntryEnded:
		m.Ended = e
	case store.EntryPatched:
		m.Patch(e.Name, true)
	case store.EntryChild:
		m.Children = true
	case store.EntryUpdated:
		m.Accepted = true
	case store.EntryContinued:
		var c journal.Continued
		m.Children = m.Children || journal.Decode(e, &c) == nil && c.Children
	default: // found by its path
	}
}

// Position orders the places of a strand, and the waits after each that have none of their own.
func Position(place, unplaced int) int64 { return int64(place)<<32 | int64(unplaced) }

// begin notes that a strand has come to where something began that has a path, such as a strand at
// "3", a child at "3.1", a request in a wait at "3:1", or in the second one after it at "3+2:1".
func (m *Memory) begin(path string) {
	at := strings.LastIndexByte(path, '.') + 1
	wait, _, _ := strings.Cut(path[at:], ":")
	text, after, _ := strings.Cut(wait, "+")
	if place, err := strconv.Atoi(text); err == nil {
		unplaced, _ := strconv.Atoi(after) // 0 if there is none
		Put(&m.begun, path[:at], max(m.begun[path[:at]], Position(place, unplaced)))
	}
	if at > 0 {
		m.begin(path[:at-1])
	}
}

// Reached is the position at which the last operation began, of those that the journal held at the
// start, whose strand has that prefix.
func (m *Memory) Reached(prefix string) int64 {
	return max(Position(m.last[prefix], 0), m.begun[prefix])
}

// isPlace reports whether a path is that of a place in the code that every run comes past again.
func isPlace(path string) bool { return path != "" && !journal.IsCompensation(path) }

// At returns the entries at a path.
func (m *Memory) At(path string) []*store.Entry { return m.byPath[path] }

// LastPlace returns the highest place with that prefix that the journal held at the start, and
// whether it held any place at all.
func (m *Memory) LastPlace(prefix string) (place int, some bool) {
	return m.last[prefix], len(m.last) > 0
}

// Visit notes that the code came past a path, and reports whether it has come past all that the
// journal held at the start, just now.
func (m *Memory) Visit(path string) (caughtUp bool) {
	if !m.visited[path] && m.byPath[path] != nil && isPlace(path) {
		m.behind--
		caughtUp = !m.IsBehind()
	}
	Put(&m.visited, path, true)
	return caughtUp
}

// IsBehind reports whether the journal held places at the start that the code did not come past
// yet.
func (m *Memory) IsBehind() bool { return m.behind > 0 || m.MayMeet() }

// Unvisited returns the first entry that the code did not come past, or nil.
func (m *Memory) Unvisited() (first *store.Entry) {
	for path, entries := range m.byPath {
		if !isPlace(path) || m.visited[path] {
			continue
		}
		if e := entries[0]; first == nil || e.Seq < first.Seq {
			first = e
		}
	}
	return first
}

// Account counts an entry against what the journal may hold.
func (m *Memory) Account(e *store.Entry) {
	m.Entries++
	m.Bytes += journal.Weight(e)
}

// Times is how often the run has continued as new.
func (m *Memory) Times() int {
	var c journal.Continued
	for _, e := range m.byPath[""] {
		if e.Kind == store.EntryContinued && journal.Decode(e, &c) != nil {
			return 0
		}
	}
	return c.Times
}

// Next is the data with which the run continues as new.
func (m *Memory) Next() journal.Continued { return journal.Next(m.all()) }

// AwaitsChildren reports whether there may be children that the run, if it fails or is cancelled,
// cancels and waits for.
func (m *Memory) AwaitsChildren() bool { return m.Children && journal.Awaits(m.all()) }

// all yields the entries, in no order.
func (m *Memory) all() iter.Seq[*store.Entry] {
	return func(yield func(*store.Entry) bool) {
		for _, entries := range m.byPath {
			for _, e := range entries {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// Patch notes whether the run takes part in a change of its code.
func (m *Memory) Patch(name string, in bool) { Put(&m.patches, name, in) }

// Patched tells whether the run takes part in a change of its code, if that is known.
func (m *Memory) Patched(name string) (in, known bool) {
	in, known = m.patches[name]
	return in, known
}
