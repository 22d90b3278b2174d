package updates

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Known returns the number of a request that was sent before with a key.
func Known(t *core.Tx, id store.ID, key string) (seq int64, known bool, err error) {
	s := t.Stmt("update_seq")
	db.BindID(s, id)
	s.BindText(key)
	if known, err = s.Next(); err != nil || !known {
		return 0, false, err
	}
	defer s.Done()
	return s.ReadInt(), true, nil
}

// Insert keeps a request whose key is not known, and returns its number.
func Insert(t *core.Tx, q *store.Send) (seq int64, err error) {
	s := t.Stmt("update_insert")
	db.BindID(s, q.Job)
	s.BindText(q.Key)
	s.BindText(q.Message.Name)
	s.BindInt(t.Now)
	s.BindInt(int64(q.Message.Codec))
	db.BindPayload(s, q.Message.Data)
	if err := db.Exec(s); err != nil {
		return 0, err
	}
	seq, known, err := Known(t, q.Job, q.Key)
	if err != nil || !known {
		return 0, db.Unexpected("update_seq", err)
	}
	return seq, nil
}

// Answer answers those of the requests that are open.
func Answer(t *core.Tx, id store.ID, answers []store.UpdateAnswer) error {
	for i := range answers {
		a := &answers[i]
		s := t.Stmt("update_answer")
		s.BindInt(t.Now)
		s.BindInt(int64(a.Verdict))
		s.BindInt(int64(a.Codec))
		db.BindPayload(s, a.Data)
		db.BindOptText(s, a.Error)
		s.BindInt(a.Seq)
		db.BindID(s, id)
		if err := db.Exec(s); err != nil {
			return err
		}
	}
	return nil
}

// Arrived reports whether a request is open that a run which parks does not know.
func Arrived(t *core.Tx, id store.ID, w *store.Wait) (bool, error) {
	if !w.Kinds.Has(store.MessageUpdate) {
		return false, nil
	}
	s := t.Stmt("updates_after")
	db.BindID(s, id)
	s.BindInt(w.SeenUpdate)
	return db.Exists(s)
}

// ForgetOpen removes the requests that are open.
func ForgetOpen(t *core.Tx, id store.ID) error {
	s := t.Stmt("updates_forget_open")
	db.BindID(s, id)
	return db.Exec(s)
}

// ForgetAccepted removes the requests with an answer that entries after a number have accepted.
func ForgetAccepted(t *core.Tx, id store.ID, after int64) error {
	s := t.Stmt("updates_forget_accepted")
	db.BindID(s, id)
	s.BindInt(after)
	db.BindID(s, id)
	return db.Exec(s)
}
