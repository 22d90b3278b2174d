package generations

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

// Of returns where the memory of a job begins.
func Of(t *core.Tx, id store.ID) (g Generation, err error) {
	s := t.Stmt("generation")
	db.BindID(s, id)
	found, err := s.Next()
	if err != nil || !found {
		return g, err
	}
	defer s.Done()
	return Generation{s.ReadInt(), db.ReadOptInt(s)}, nil
}

// Visible is Of for readers: of a job that is not there, rows may be left, or copied for a
// fork.
func Visible(t *core.Tx, id store.ID) (g Generation, there bool, err error) {
	if there, err = t.IsThere(id); there {
		g, err = Of(t, id)
	}
	return g, there && err == nil, err
}

// KeepUnread lets the signals that no entry of a generation has received be the first messages of
// the next one, and returns from which row on its messages are counted. As a rule they are the last
// rows, and stay where they are; else they move behind all others.
func KeepUnread(t *core.Tx, id store.ID, g Generation) (sent int64, err error) {
	last, err := NewestMessage(t, id, g)
	if err != nil || last == g.Sent {
		return last, err
	}
	unread, err := unread(t, id, g)
	if n := int64(len(unread)); err != nil || n == 0 || unread[0] == last-n+1 {
		return last - n, err
	}
	for i, row := range unread {
		s := t.Stmt("inbox_renumber")
		s.BindInt(last + int64(i) + 1)
		db.BindID(s, id)
		s.BindInt(row)
		if err := db.Exec(s); err != nil {
			return 0, err
		}
	}
	return last, nil
}

// NewestMessage is the row of the last message of a generation, or of the last one before it.
func NewestMessage(t *core.Tx, id store.ID, g Generation) (row int64, err error) {
	s := t.Stmt("inbox_last")
	db.BindID(s, id)
	if found, err := s.Next(); err != nil || !found {
		return 0, db.Unexpected("inbox_last", err)
	}
	defer s.Done()
	return max(db.ReadOptInt(s), g.Sent), nil
}

// unread lists the rows of signals that no entry of a generation has received. Two indexes tell
// which messages are left, of which only those that are signals are looked up.
func unread(t *core.Tx, id store.ID, g Generation) (rows []int64, err error) {
	received := map[int64]bool{}
	s := t.Stmt("received")
	db.BindID(s, id)
	s.BindInt(g.First)
	err = db.Each(s, func() error {
		received[g.Sent+s.ReadInt()] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	var left []int64
	s = t.Stmt("inbox_rows")
	db.BindID(s, id)
	s.BindInt(g.Sent)
	err = db.Each(s, func() error {
		if row := s.ReadInt(); !received[row] {
			left = append(left, row)
		}
		return nil
	})
	for _, row := range left {
		s := t.Stmt("inbox_is_signal")
		db.BindID(s, id)
		s.BindInt(row)
		signal, err := db.Exists(s)
		if err != nil {
			return nil, err
		}
		if signal {
			rows = append(rows, row)
		}
	}
	return rows, err
}
