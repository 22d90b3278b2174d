package core

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Audit records what a person did.
func Audit(t *Tx, actor, action string, job *store.ID, queue int64, detail string) error {
	s := t.Stmt("audit_insert")
	s.BindInt(t.Now)
	s.BindText(actor)
	s.BindText(action)
	if job != nil {
		db.BindID(s, *job)
	} else {
		s.BindNull()
	}
	if queue != 0 {
		s.BindInt(queue)
	} else {
		s.BindNull()
	}
	db.BindOptText(s, detail)
	return db.Exec(s)
}
