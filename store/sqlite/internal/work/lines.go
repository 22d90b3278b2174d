package work

import (
	"fmt"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// writeLater plans the entries of an append whose lease is live and which follow what is there. If
// they are what a statement lacked, they are written, and may be refused.
func writeLater(t *core.Tx, a *store.Append) (refused, err error) {
	for i := range a.Entries {
		t.Lines.Rows = append(t.Lines.Rows, core.Line{Of: a, Index: i})
	}
	t.Tails.Note(a)
	a.Err = nil
	err = t.Lines.WriteFull(t, insertLines())
	return a.Err, err
}

// writeLines writes the entries that are planned.
func writeLines(t *core.Tx) error { return t.Lines.WriteAll(t, insertLines()) }

func insertLines() core.Inserting[core.Line] {
	return core.Inserting[core.Line]{
		Many: "journal_insert_many",
		Bind: func(t *core.Tx, s db.Stmt, l core.Line) {
			bindEntry(t, s, l.Of.Lease.Job, l.Of.Lease.Number, &l.Of.Entries[l.Index])
		},
		One: func(t *core.Tx, l core.Line) (bool, error) {
			return insertEntry(t, l.Of.Lease.Job, l.Of.Lease.Number, &l.Of.Entries[l.Index])
		},
		Taken: refuseLine,
	}
}

// refuseLine answers an append whose entry has a number that is taken, and drops what is planned of
// it.
func refuseLine(t *core.Tx, l core.Line) (err error) {
	if l.Index > 0 {
		return gapBefore(l.Of, l.Index)
	}
	rest := len(l.Of.Entries) - 1
	t.Lines.Rows = t.Lines.Rows[min(rest, len(t.Lines.Rows)):]
	delete(t.Tails, l.Of.Lease.Job)
	l.Of.Err, err = refuseAppend(t, l.Of, true)
	return err
}

func gapBefore(a *store.Append, i int) error {
	return fmt.Errorf("%w: the journal of job %v has a gap before %d", store.ErrInvalid, a.Lease.Job, a.Entries[i].Seq)
}

// follows reports whether the append's first entry is the next one of its journal, or that of a
// number that is taken.
func follows(t *core.Tx, a *store.Append) (bool, error) {
	before := a.Entries[0].Seq - 1
	if before == 0 && a.Lease.Number > 1 { // the first entries of a job that continued as new are free, and forgotten
		g, err := GenerationOf(t, a.Lease.Job)
		return g.First == 0, err
	}
	if before == 0 || t.Database.Tails.Of(a.Lease.Job) == (core.JournalTail{Lease: a.Lease.Number, Seq: before}) {
		return true, nil
	}
	s := t.Stmt("journal_reaches")
	db.BindID(s, a.Lease.Job)
	s.BindInt(before)
	return db.Exists(s)
}

// refuseAppend answers an append whose lease is not live, or whose first number cannot be written:
// the lease is lost, unless the append is repeated and this very lease wrote the entry before.
func refuseAppend(t *core.Tx, a *store.Append, live bool) (refused, err error) {
	refused = store.LostLease(a.Lease.Job)
	if len(a.Entries) == 0 {
		return refused, nil
	}
	s := t.Stmt("journal_lease")
	db.BindID(s, a.Lease.Job)
	s.BindInt(a.Entries[0].Seq)
	found, err := s.Next()
	if err != nil {
		return nil, err
	}
	if !found && live {
		refused = store.JournalGap(a.Lease.Job, a.Entries[0].Seq)
	}
	if !found {
		return refused, nil
	}
	lease := s.ReadInt()
	s.Done()
	if !a.Repeat || lease != a.Lease.Number {
		return refused, nil
	}
	for _, q := range a.Enqueues {
		if _, err := t.Known(q); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
