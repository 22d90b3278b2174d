package work

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Generation is where a job's memory begins.
type Generation struct {
	First int64 // the Seq of the entry with which it last continued as new; 0 if it never did
	// Sent is the number of the last row of its inbox that is forgotten. The Seqs of messages are
	// counted from there, from 1.
	Sent int64
}

// GenerationOf returns where the memory of a job begins.
func GenerationOf(t *core.Tx, id store.ID) (g Generation, err error) {
	s := t.Stmt("generation")
	db.BindID(s, id)
	found, err := s.Next()
	if err != nil || !found {
		return g, err
	}
	defer s.Done()
	return Generation{s.ReadInt(), db.ReadOptInt(s)}, nil
}

// memory is generation for readers: of a job that is not there, rows may be left, or copied for a
// fork.
func memory(t *core.Tx, id store.ID) (g Generation, there bool, err error) {
	if there, err = t.IsThere(id); there {
		g, err = GenerationOf(t, id)
	}
	return g, there && err == nil, err
}
