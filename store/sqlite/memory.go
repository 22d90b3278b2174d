package sqlite

import (
	"github.com/holdfastdev/holdfast/store"
)

// generation is where a job's memory begins.
type generation struct {
	first int64 // the Seq of the entry with which it last continued as new; 0 if it never did
	// sent is the number of the last row of its inbox that is forgotten. The Seqs of messages are
	// counted from there, from 1.
	sent int64
}

// generation returns where the memory of a job begins.
func (t *tx) generation(id store.ID) (g generation, err error) {
	s := t.stmt("generation")
	bindID(s, id)
	found, err := s.next()
	if err != nil || !found {
		return g, err
	}
	defer s.done()
	return generation{s.readInt(), readOptInt(s)}, nil
}

// memory is generation for readers: of a job that is not there, rows may be left, or copied for a fork.
func (t *tx) memory(id store.ID) (g generation, there bool, err error) {
	if there, err = t.isThere(id); there {
		g, err = t.generation(id)
	}
	return g, there && err == nil, err
}
