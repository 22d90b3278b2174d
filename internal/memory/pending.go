package memory

import (
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
)

const (
	// MaxAppend is how many entries one write of a run carries at the most, so that other runs do
	// not wait long behind it.
	MaxAppend = 500
	// MaxAppendBytes bounds how much they are.
	MaxAppendBytes = 1 << 20
)

// Record notes an entry that is to be stored with the next write, and that this very run may ask
// for.
func (m *Memory) Record(e store.Entry) { m.Remind(m.StoreLater(e)) }

// Remind makes an entry of this very run known to it.
func (m *Memory) Remind(e store.Entry) {
	m.Visit(e.Path)
	m.note(&e)
}

// StoreLater notes an entry that is to be stored with the next write, for later runs alone. It
// returns the entry as it will be stored.
func (m *Memory) StoreLater(e store.Entry) store.Entry {
	e.Data, e.Codec = journal.Pack(e.Data)
	m.pending = append(m.pending, e)
	m.Account(&e)
	return e
}

// Enqueue notes a child that is to be enqueued with the entry that was added last.
func (m *Memory) Enqueue(e *store.Enqueue) { m.enqueues = append(m.enqueues, e) }

// IsSaved reports whether nothing is to be stored.
func (m *Memory) IsSaved() bool {
	return len(m.pending) == 0 && len(m.enqueues) == 0 && !m.Requests.HasAnswers()
}

// DropAll takes back all that is to be stored.
func (m *Memory) DropAll() {
	m.pending, m.enqueues = nil, nil
	m.Requests.TakeAnswers()
}

// Pending returns copies of what is to be stored, but for answers.
func (m *Memory) Pending() ([]store.Entry, []*store.Enqueue) {
	return slices.Clone(m.pending), slices.Clone(m.enqueues)
}

// Adopt takes in an entry that was stored, by other means, after all that is pending.
func (m *Memory) Adopt(e *store.Entry) {
	m.Stored = e.Seq
	m.pending, m.enqueues = nil, nil
	m.note(e)
}

// Drop takes entries back that are not stored yet, and the children that are to be enqueued with
// them.
func (m *Memory) Drop(of func(path string) bool) {
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

// Forget takes back what is to be stored of a strand that failed: it decides again.
func (m *Memory) Forget(prefix string) {
	kept := m.pending[:0]
	for _, e := range m.pending {
		switch {
		case !strings.HasPrefix(e.Path, prefix):
			kept = append(kept, e)
			continue
		case journal.IsRefused(&e):
			kept = append(kept, journal.Refusal(e))
		case e.Kind == store.EntryReceived:
			m.PutBack(e.Ref)
		}
		delete(m.byPath, e.Path)
	}
	m.pending = kept
}

// KeepRefusals takes back what is to be stored, but for the signals that did not decode: they are
// received all the same, at no place in the code, so that the next attempt waits for the next one.
// Otherwise it would fail at the same one, again and again.
func (m *Memory) KeepRefusals() {
	var refused []store.Entry
	for _, e := range m.pending {
		if journal.IsRefused(&e) {
			refused = append(refused, journal.Refusal(e))
		}
	}
	m.DropAll()
	m.pending = refused
}

// IsLast reports whether the next write carries all that is to be stored.
func (m *Memory) IsLast() bool {
	entries, _ := m.portion()
	return entries == len(m.pending)
}

// Portion takes out what the next write carries.
func (m *Memory) Portion(lease store.Lease) *store.Append {
	entries, enqueues := m.portion()
	a := &store.Append{Lease: lease, Entries: m.pending[:entries:entries], Enqueues: m.enqueues[:enqueues:enqueues]}
	for i := range a.Entries {
		e := &a.Entries[i]
		e.Seq = m.Stored + int64(i) + 1
		a.Closing = a.Closing || e.Kind == store.EntryClosing
	}
	m.pending, m.enqueues = m.pending[entries:], m.enqueues[enqueues:]
	if len(m.pending) == 0 {
		m.pending, m.enqueues = nil, nil
		a.Answers = m.Requests.TakeAnswers() // what they rest on is stored before them, or with them
	}
	return a
}

// portion is how many of the entries, and of the children that are enqueued with them, the next
// write carries. Each child belongs to the entry that remembers it, in the same order.
func (m *Memory) portion() (entries, enqueues int) {
	bytes := int64(0)
	for i := range m.pending {
		e := &m.pending[i]
		bytes += journal.Weight(e)
		if i > 0 && (i == MaxAppend || bytes > MaxAppendBytes) {
			return i, enqueues
		}
		if e.Kind == store.EntryChild {
			enqueues++
		}
	}
	return len(m.pending), len(m.enqueues)
}

// IsEmpty reports whether the journal has no entry, and gets none with the next write.
func (m *Memory) IsEmpty() bool { return m.Stored == 0 && len(m.pending) == 0 }
