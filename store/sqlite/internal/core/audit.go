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
	if job != nil { // and once more, for its namespace
		db.BindID(s, *job)
	} else {
		s.BindNull()
	}
	return db.Exec(s)
}

// AuditChange records a change of what people have set: of a queue that has this number, or, for 0,
// of a job or something else.
func AuditChange(t *Tx, queue int64, e store.AuditEntry) error {
	s := t.Stmt("audit_change")
	s.BindInt(t.Now)
	s.BindText(e.Actor)
	s.BindText(e.Action)
	if queue != 0 {
		s.BindInt(queue)
	} else {
		s.BindNull()
	}
	kind, name := e.Target.Kind, e.Target.Name
	if kind == store.AuditJob { // whose column says it
		kind, name = "", ""
		db.BindID(s, e.Job)
	} else {
		s.BindNull()
	}
	for _, text := range []string{e.Namespace, kind, name, e.Detail, e.Before, e.After} {
		db.BindOptText(s, text)
	}
	return db.Exec(s)
}
