// Package unsaid keeps what a run says of its job, metadata and tags, until it is stored.
package unsaid

import (
	"sync"
	"sync/atomic"

	"github.com/holdfastdev/holdfast/store"
)

// Speaker is a strand of a run that says something.
type Speaker interface {
	// Position is how far it has come, and the prefix of the paths of its operations.
	Position() (prefix string, position int64)
}

// Words are what a speaker has said. Nil is nothing.
type Words struct {
	by       Speaker
	prefix   string
	position int64 // where it said so
	meta     *store.Meta
}

// Meta is what is to be stored, or nil.
func (w *Words) Meta() *store.Meta {
	if w == nil {
		return nil
	}
	return w.meta
}

// Of returns what the speaker has said itself, or nil.
func (w *Words) Of(by Speaker) *Words {
	if w == nil || w.by != by {
		return nil
	}
	return w
}

// Slot has the words of a run that are not stored. The zero value has none. It is safe for use by
// several goroutines.
type Slot struct {
	words atomic.Pointer[Words]

	mu      sync.Mutex
	carried chan struct{} // closed when the write of the journal that carries words has ended; nil: there is none
}

// Say adds what a speaker says.
func (s *Slot) Say(by Speaker, meta *store.Meta) {
	prefix, position := by.Position()
	for {
		before := s.words.Load()
		if s.words.CompareAndSwap(before, &Words{by, prefix, position, before.Meta().Over(meta)}) {
			return
		}
	}
}

// Places are what a run's journal held at its start.
type Places interface {
	// Reached is the position at which the last operation began whose strand has that prefix.
	Reached(prefix string) int64
}

// Words are what is to be stored with the next write of the run, whose journal held operations at
// its start; nil: it has no journal. What was said before one of these began was stored with it,
// and the speaker may have said something else since.
func (s *Slot) Words(held Places) *Words {
	w := s.words.Load()
	if w == nil || held == nil {
		return w
	}
	if w.position < held.Reached(w.prefix) {
		return nil
	}
	return w
}

// Carry is Words for a write of the journal. Of these one follows the other; Carried tells that it
// has ended, with these words.
func (s *Slot) Carry(held Places) *Words {
	w := s.Words(held)
	if w == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.carried == nil { // else a transaction is tried again
		s.carried = make(chan struct{})
	}
	return w
}

// Carried ends a write of the journal. If it is stored the words are forgotten, unless others have
// been added.
func (s *Slot) Carried(w *Words, stored bool) {
	if w == nil {
		return
	}
	if stored {
		s.Stored(w)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.carried != nil {
		close(s.carried)
		s.carried = nil
	}
}

// Await waits, until over at the latest, for a write of the journal that carries words: what else
// carries some is to be stored after it.
func (s *Slot) Await(over <-chan struct{}) {
	s.mu.Lock()
	carried := s.carried
	s.mu.Unlock()
	if carried == nil {
		return
	}
	select {
	case <-carried:
	case <-over:
	}
}

// Drop forgets the words of a speaker, which said them before: the operation that it begins is in
// the journal.
func (s *Slot) Drop(by Speaker) {
	if w := s.words.Load(); w != nil && w.by == by {
		s.words.CompareAndSwap(w, nil)
	}
}

// Stored forgets words that are stored, unless others have been added.
func (s *Slot) Stored(w *Words) {
	if w != nil {
		s.words.CompareAndSwap(w, nil)
	}
}

// Clear forgets all words.
func (s *Slot) Clear() { s.words.Store(nil) }
