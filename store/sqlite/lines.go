package sqlite

import (
	"fmt"

	"github.com/holdfastdev/holdfast/store"
)

// writeLater plans the entries of an append whose lease is live and which follow what is there. If they are what a statement lacked, they
// are written, and may be refused.
func (t *tx) writeLater(a *store.Append) (refused, err error) {
	for i := range a.Entries {
		t.lines.rows = append(t.lines.rows, line{a, i})
	}
	t.ended.note(a)
	a.Err = nil
	err = t.lines.writeFull(t, insertLines())
	return a.Err, err
}

// writeLines writes the entries that are planned.
func (t *tx) writeLines() error { return t.lines.writeAll(t, insertLines()) }

func insertLines() inserting[line] {
	return inserting[line]{
		many: "journal_insert_many",
		bind: func(t *tx, s stmt, l line) { t.bindEntry(s, l.of.Lease.Job, l.of.Lease.Number, &l.of.Entries[l.i]) },
		one: func(t *tx, l line) (bool, error) {
			return t.insertEntry(l.of.Lease.Job, l.of.Lease.Number, &l.of.Entries[l.i])
		},
		taken: (*tx).refuseLine,
	}
}

// refuseLine answers an append whose entry has a number that is taken, and drops what is planned of it.
func (t *tx) refuseLine(l line) (err error) {
	if l.i > 0 {
		return gapBefore(l.of, l.i)
	}
	rest := len(l.of.Entries) - 1
	t.lines.rows = t.lines.rows[min(rest, len(t.lines.rows)):]
	delete(t.ended, l.of.Lease.Job)
	l.of.Err, err = t.refuseAppend(l.of, true)
	return err
}

func gapBefore(a *store.Append, i int) error {
	return fmt.Errorf("%w: the journal of job %v has a gap before %d", store.ErrInvalid, a.Lease.Job, a.Entries[i].Seq)
}

// follows reports whether the append's first entry is the next one of its journal, or that of a number that is taken.
func (t *tx) follows(a *store.Append) (bool, error) {
	before := a.Entries[0].Seq - 1
	if before == 0 && a.Lease.Number > 1 { // the first entries of a job that continued as new are free, and forgotten
		g, err := t.generation(a.Lease.Job)
		return g.first == 0, err
	}
	if before == 0 || t.database.ends.of(a.Lease.Job) == (journalEnd{a.Lease.Number, before}) {
		return true, nil
	}
	s := t.stmt("journal_reaches")
	bindID(s, a.Lease.Job)
	s.bindInt(before)
	return exists(s)
}

// refuseAppend answers an append whose lease is not live, or whose first number cannot be written: the lease is lost, unless the
// append is repeated and this very lease wrote the entry before.
func (t *tx) refuseAppend(a *store.Append, live bool) (refused, err error) {
	refused = store.LostLease(a.Lease.Job)
	if len(a.Entries) == 0 {
		return refused, nil
	}
	s := t.stmt("journal_lease")
	bindID(s, a.Lease.Job)
	s.bindInt(a.Entries[0].Seq)
	found, err := s.next()
	if err != nil {
		return nil, err
	}
	if !found && live {
		refused = store.JournalGap(a.Lease.Job, a.Entries[0].Seq)
	}
	if !found {
		return refused, nil
	}
	lease := s.readInt()
	s.done()
	if !a.Repeat || lease != a.Lease.Number {
		return refused, nil
	}
	for _, q := range a.Enqueues {
		if _, err := t.known(q); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
