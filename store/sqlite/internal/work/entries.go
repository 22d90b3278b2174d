package work

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/generations"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/updates"
)

// insertEntry adds an entry to a journal. It returns false if the number is taken.
func insertEntry(t *core.Tx, id store.ID, lease int64, e *store.Entry) (bool, error) {
	s := t.Stmt("journal_insert")
	bindEntry(t, s, id, lease, e)
	changed, err := s.Exec()
	return changed > 0, err
}

func bindEntry(t *core.Tx, s db.Stmt, id store.ID, lease int64, e *store.Entry) {
	db.BindID(s, id)
	s.BindInt(e.Seq)
	s.BindInt(t.Now)
	s.BindInt(lease)
	s.BindInt(int64(e.Kind))
	db.BindOptText(s, e.Path)
	db.BindOptText(s, e.Name)
	db.BindOptInt(s, e.Ref)
	s.BindInt(int64(e.Codec))
	db.BindPayload(s, e.Data)
	db.BindOptInt(s, e.Took.Microseconds())
}

// Durable reports whether a job has a journal.
func Durable(t *core.Tx, id store.ID) (bool, error) {
	s := t.Stmt("journal_has")
	db.BindID(s, id)
	return db.Exists(s)
}

// LastEntry returns the number of the last entry of a journal, 0 if there is none.
func LastEntry(t *core.Tx, id store.ID) (int64, error) {
	s := t.Stmt("journal_last")
	db.BindID(s, id)
	found, err := s.Next()
	if err != nil || !found {
		return 0, err
	}
	defer s.Done()
	return s.ReadInt(), nil
}

// LastWritten returns the lease number under which the last entry of a journal was written, 0 of a
// copy, and whether it says how the job ends; there is none if the job is not durable.
func LastWritten(t *core.Tx, id store.ID) (lease int64, ends, durable bool, err error) {
	s := t.Stmt("journal_last_writer")
	db.BindID(s, id)
	if durable, err = s.Next(); err != nil || !durable {
		return 0, false, false, err
	}
	defer s.Done()
	lease = s.ReadInt()
	return lease, store.EntryKind(s.ReadInt()) == store.EntryEnded, true, nil
}

// trim removes the entries of a journal after one, but for that with which its generation begins,
// and the answers to the requests that they accepted.
func trim(t *core.Tx, id store.ID, keep int64) error {
	g, err := generations.Of(t, id)
	if err != nil {
		return err
	}
	keep = max(keep, g.First)
	if err := updates.ForgetAccepted(t, id, keep); err != nil {
		return err
	}
	s := t.Stmt("journal_trim")
	db.BindID(s, id)
	s.BindInt(keep)
	return db.Exec(s)
}
