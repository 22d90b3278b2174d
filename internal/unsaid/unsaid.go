// Package unsaid keeps what a run says of its job, metadata and tags, until it is stored.
package unsaid

import (
	"sync/atomic"

	"github.com/holdfastdev/holdfast/store"
)

// Speaker is a strand of a run that says something.
type Speaker interface {
	// Place is the number of its last operation, and the prefix of the paths of all of them.
	Place() (prefix string, place int)
}

// Words are what a speaker has said. Nil is nothing.
type Words struct {
	by   Speaker
	meta *store.Meta
}

// Meta is what is to be stored, or nil.
func (w *Words) Meta() *store.Meta {
	if w == nil {
		return nil
	}
	return w.meta
}

// Slot has the words of a run that are not stored. The zero value has none. It is safe for use by
// several goroutines.
type Slot struct{ words atomic.Pointer[Words] }

// Say adds what a speaker says.
func (s *Slot) Say(by Speaker, meta *store.Meta) {
	for {
		before := s.words.Load()
		if s.words.CompareAndSwap(before, &Words{by, before.Meta().Over(meta)}) {
			return
		}
	}
}

// Places are those of the operations that a run's journal held at its start.
type Places interface {
	// LastPlace is the highest place with a prefix, and whether there was any place at all.
	LastPlace(prefix string) (place int, some bool)
}

// Words are what is to be stored with the next write of the run, whose journal held operations at
// its start; nil: it has no journal. A speaker that has not come past these may say what it has
// said before, and has said otherwise since.
func (s *Slot) Words(held Places) *Words {
	w := s.words.Load()
	if w == nil {
		return nil
	}
	if held == nil {
		return w
	}
	prefix, place := w.by.Place()
	if last, _ := held.LastPlace(prefix); place < last {
		return nil
	}
	return w
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
