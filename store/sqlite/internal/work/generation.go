package work

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// A job that continues as new may leave behind tens of thousands of rows. They are not removed in
// the transaction that ends its run, for which everybody else who writes would wait: the entry with
// which it starts over says from where on its journal and its inbox count, and what is before is
// hidden, and removed bit by bit (see leftover.go). What the job has published and streamed before
// stays, for those who ask for it.

// continueAsNew makes a job whose run has ended start over: of its journal it remembers nothing but
// that it has continued, and of its messages only the signals that no entry has received.
func continueAsNew(t *core.Tx, b *core.Body, again *store.Continue) error {
	g, err := GenerationOf(t, b.ID)
	if err != nil {
		return err
	}
	last, err := LastEntry(t, b.ID)
	if err != nil {
		return err
	}
	next := Generation{First: last + 1}
	if next.Sent, err = keepUnread(t, b.ID, g); err != nil {
		return err
	}
	e := &store.Entry{Seq: next.First, Kind: store.EntryContinued, Ref: next.Sent, Data: again.Data}
	if _, err := insertEntry(t, b.ID, b.LeaseNumber, e); err != nil {
		return err
	}
	if err := leaveBehind(t, b.ID, g, next); err != nil {
		return err
	}
	if b.Attempt = 0; b.Closing {
		if err := t.ReopenEnd(b); err != nil {
			return err
		}
	}
	s := t.Stmt("job_continue")
	db.BindPayload(s, again.Args)
	s.BindInt(int64(again.Codec))
	db.BindID(s, b.ID)
	return db.Exec(s)
}

// keepUnread lets the signals that no entry of a generation has received be the first messages of
// the next one, and returns from which row on its messages are counted. As a rule they are the last
// rows, and stay where they are; else they move behind all others.
func keepUnread(t *core.Tx, id store.ID, g Generation) (sent int64, err error) {
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
