package replay

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
)

// put sets a value in a map that is made with its first one: most runs need few of theirs.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// index makes the journal ready to be asked.
func (m *replayState) index(j store.Journal) {
	for i := range j.Entries {
		e := &j.Entries[i]
		m.stored = e.Seq
		m.account(e)
		m.note(e)
		if e.Path == "" {
			continue
		}
		at := strings.LastIndexByte(e.Path, '.') + 1
		if place, err := strconv.Atoi(e.Path[at:]); err == nil {
			put(&m.last, e.Path[:at], max(m.last[e.Path[:at]], place))
		}
	}
	m.received(j.Messages)
}

// received takes the messages in.
func (m *replayState) received(messages []store.Message) {
	m.messages = messages
	for i := range messages {
		if msg := &messages[i]; msg.Kind == store.MessageChild {
			put(&m.answers, msg.From, msg)
		}
	}
}

// note takes an entry into the index.
func (m *replayState) note(e *store.Entry) {
	put(&m.byPath, e.Path, append(m.byPath[e.Path], e))
	switch e.Kind {
	case store.EntryReceived:
		put(&m.taken, e.Ref, true)
	case store.EntryClosing:
		m.closed = e
	case store.EntryEnded:
		m.end = e
	case store.EntryPatched:
		put(&m.patches, e.Name, true)
	case store.EntryChild:
		m.children = true
	case store.EntryContinued:
		var c journal.Continued
		m.children = m.children || journal.Decode(e, &c) == nil && c.Children
	default: // found by its path
	}
}

// seen is the Seq of the last message that the run knows.
func (m *replayState) seen() int64 {
	if n := len(m.messages); n > 0 {
		return m.messages[n-1].Seq
	}
	return 0
}

func (m *replayState) message(seq int64) *store.Message {
	for i := range m.messages {
		if m.messages[i].Seq == seq {
			return &m.messages[i]
		}
	}
	return nil
}

// settled returns the failure of a child that the journal remembers.
func (m *replayState) settled(c *Child) *store.Message {
	for _, e := range m.byPath[c.path] {
		if e.Kind == store.EntryReceived {
			return m.message(e.Ref)
		}
	}
	return nil
}

// add notes an entry that is to be stored with the next write, and may be asked for by this very
// run.
func (m *replayState) add(e store.Entry) { m.remind(m.addPending(e)) }

// remind makes an entry of this very run known to it.
func (m *replayState) remind(e store.Entry) {
	m.note(&e)
	m.visit(e.Path)
}

// addPending is add for an entry that only later runs ask for. Nothing is stored before flush.
func (m *replayState) addPending(e store.Entry) store.Entry {
	e.Data, e.Codec = journal.Pack(e.Data)
	m.pending = append(m.pending, e)
	m.account(&e)
	return e
}

// visit notes that the code came past a path that the journal holds.
func (m *replayState) visit(path string) { put(&m.visited, path, true) }

// account counts an entry against what the journal may hold.
func (m *replayState) account(e *store.Entry) {
	m.entries++
	m.bytes += journal.Weight(e)
}

// times is how often the run has continued as new.
func (m *replayState) times() int {
	var c journal.Continued
	for _, e := range m.byPath[""] {
		if e.Kind == store.EntryContinued && journal.Decode(e, &c) != nil {
			return 0
		}
	}
	return c.Times
}

// drop takes entries back that are not stored yet, and the children that are to be enqueued with
// them.
func (m *replayState) drop(of func(path string) bool) {
	var entries []store.Entry
	var enqueues []*store.Enqueue
	child := 0
	for _, e := range m.pending {
		dropped := of(e.Path)
		if !dropped {
			entries = append(entries, e)
		}
		if e.Kind == store.EntryChild {
			if !dropped {
				enqueues = append(enqueues, m.enqueues[child])
			}
			child++
		}
	}
	m.pending, m.enqueues = entries, enqueues
}

// forget drops what is pending of a strand that failed: it decides again.
func (m *replayState) forget(prefix string) {
	kept := m.pending[:0]
	for _, e := range m.pending {
		switch {
		case !strings.HasPrefix(e.Path, prefix):
			kept = append(kept, e)
			continue
		case journal.IsRefused(&e):
			kept = append(kept, journal.Refusal(e))
		case e.Kind == store.EntryReceived:
			delete(m.taken, e.Ref)
		}
		delete(m.byPath, e.Path)
	}
	m.pending = kept
}

// refusals are what remains of the entries that are to be stored when an attempt has failed: the
// signals that did not decode are received all the same, at no place in the code, so that the next
// attempt waits for the next one. Otherwise it would fail at the same one, again and again.
func (m *replayState) refusals(o *store.Outcome) []store.Entry {
	if o.State != store.Retryable || m.tx != nil || m.unwritten || m.fault.err != nil {
		return nil
	}
	var refused []store.Entry
	for _, e := range m.pending {
		if journal.IsRefused(&e) {
			refused = append(refused, journal.Refusal(e))
		}
	}
	return refused
}

// unvisited tells of the first entry that a run which has completed did not come past: its code no
// longer asks for it.
func (m *replayState) unvisited() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.notAskedFor()
}

// notAskedFor is unvisited for callers that hold the lock.
func (m *replayState) notAskedFor() string {
	var first *store.Entry
	for path, entries := range m.byPath {
		if path == "" || journal.IsCompensation(path) || m.visited[path] {
			continue
		}
		if e := entries[0]; first == nil || e.Seq < first.Seq {
			first = e
		}
	}
	if first == nil {
		return ""
	}
	return fmt.Sprintf("the code completed without asking for %s at place %s, which the journal has (entry %d)",
		journal.Describe(first.Kind, first.Name), first.Path, first.Seq)
}
