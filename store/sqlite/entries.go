package sqlite

import (
	"github.com/holdfastdev/holdfast/store"
)

// insertEntry adds a line to a journal. It returns false if the number is taken.
func (t *tx) insertEntry(id store.ID, lease int64, e *store.Entry) (bool, error) {
	s := t.stmt("journal_insert")
	t.bindEntry(s, id, lease, e)
	changed, err := s.exec()
	return changed > 0, err
}

func (t *tx) bindEntry(s stmt, id store.ID, lease int64, e *store.Entry) {
	bindID(s, id)
	s.bindInt(e.Seq)
	s.bindInt(t.now)
	s.bindInt(lease)
	s.bindInt(int64(e.Kind))
	bindOptText(s, e.Path)
	bindOptText(s, e.Name)
	bindOptInt(s, e.Ref)
	s.bindInt(int64(e.Codec))
	bindPayload(s, e.Data)
	bindOptInt(s, e.Took.Microseconds())
}

// durable reports whether a job has a journal.
func (t *tx) durable(id store.ID) (bool, error) {
	s := t.stmt("journal_has")
	bindID(s, id)
	return exists(s)
}

// lastEntry returns the number of the last entry of a journal, 0 if there is none.
func (t *tx) lastEntry(id store.ID) (int64, error) {
	s := t.stmt("journal_last")
	bindID(s, id)
	found, err := s.next()
	if err != nil || !found {
		return 0, err
	}
	defer s.done()
	return s.readInt(), nil
}

// lastWriter returns the lease number under which the last entry of a journal was written, 0 of a copy; there is none if the job is
// not durable.
func (t *tx) lastWriter(id store.ID) (lease int64, durable bool, err error) {
	s := t.stmt("journal_last_writer")
	bindID(s, id)
	if durable, err = s.next(); err != nil || !durable {
		return 0, false, err
	}
	defer s.done()
	return s.readInt(), true, nil
}

// trim removes the entries of a journal after one, but for that with which its generation begins.
func (t *tx) trim(id store.ID, keep int64) error {
	g, err := t.generation(id)
	if err != nil {
		return err
	}
	s := t.stmt("journal_trim")
	bindID(s, id)
	s.bindInt(max(keep, g.first))
	return exec(s)
}
