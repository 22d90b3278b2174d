package keys

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// WasSent answers an enqueue with a Send that has happened before.
func WasSent(t *core.Tx, q *store.Enqueue) (bool, error) {
	s := t.Stmt("key_sent")
	db.BindID(s, q.Job.ID)
	s.BindText(q.Job.Namespace)
	found, err := s.Next()
	if err != nil || !found {
		return false, err
	}
	defer s.Done()
	q.Send.Job = db.ReadID(s)
	q.Send.Result = store.SendResult{Seq: s.ReadInt(), Duplicate: true}
	q.Result = store.EnqueueResult{ID: q.Send.Job, Existing: true, Differs: s.ReadInt() != 0}
	if !s.ReadNull() {
		q.Result.RunAt = core.DueTime(s.ReadInt())
	}
	return true, nil
}

// NoteSent remembers what became of an enqueue with a Send.
func NoteSent(t *core.Tx, q *store.Enqueue) error {
	s := t.Stmt("key_sent_insert")
	db.BindID(s, q.Job.ID)
	s.BindText(q.Job.Namespace)
	db.BindID(s, q.Send.Job)
	s.BindInt(q.Send.Result.Seq)
	s.BindInt(t.Now)
	s.BindInt(db.BoolInt(q.Result.Differs))
	return db.Exec(s)
}
