package work

import (
	"fmt"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/generations"
)

// planEntries plans the entries of an append whose lease is live and which follow what is there. If
// there are enough for the statement that takes many, it writes them at once, and returns why the
// append is refused if its first number is taken.
func planEntries(t *core.Tx, a *store.Append) (refused, err error) {
	for i := range a.Entries {
		t.Entries.Rows = append(t.Entries.Rows, core.PlannedEntry{Of: a, Index: i})
	}
	t.Tails.Note(a)
	a.Err = nil
	err = t.Entries.WriteFull(t, insertEntries())
	return a.Err, err
}

// writeEntries writes the entries that are planned.
func writeEntries(t *core.Tx) error { return t.Entries.WriteAll(t, insertEntries()) }

func insertEntries() core.Inserting[core.PlannedEntry] {
	return core.Inserting[core.PlannedEntry]{
		Many: "journal_insert_many",
		Bind: func(t *core.Tx, s db.Stmt, p core.PlannedEntry) {
			bindEntry(t, s, p.Of.Lease.Job, p.Of.Lease.Number, &p.Of.Entries[p.Index])
		},
		One: func(t *core.Tx, p core.PlannedEntry) (bool, error) {
			return insertEntry(t, p.Of.Lease.Job, p.Of.Lease.Number, &p.Of.Entries[p.Index])
		},
		Taken: refuseEntry,
	}
}

// refuseEntry answers the append of an entry whose number is taken, and drops what else is planned
// of that append.
func refuseEntry(t *core.Tx, p core.PlannedEntry) (err error) {
	if p.Index > 0 {
		return gapBefore(p.Of, p.Index)
	}
	rest := len(p.Of.Entries) - 1
	t.Entries.Rows = t.Entries.Rows[min(rest, len(t.Entries.Rows)):]
	delete(t.Tails, p.Of.Lease.Job)
	p.Of.Err, err = recogniseAppend(t, p.Of, true)
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
		g, err := generations.Of(t, a.Lease.Job)
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

// recogniseAppend answers an append whose lease is not live, or whose first number cannot be
// written: the lease is lost, unless the append is repeated and this very lease wrote the entry
// before.
func recogniseAppend(t *core.Tx, a *store.Append, live bool) (refused, err error) {
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
		refused = refusal.JournalGap(a.Lease.Job, a.Entries[0].Seq)
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
