package core

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// AuditJob records what a person did to a job. Its namespace is looked up.
func AuditJob(t *Tx, job store.ID, e store.AuditEntry) error {
	t.Changed = true
	s := t.Stmt("audit_insert")
	s.BindInt(t.Now)
	s.BindText(e.Actor)
	s.BindText(e.Action)
	db.BindID(s, job)
	for _, text := range []string{e.Detail, e.Before, e.After} {
		db.BindOptText(s, text)
	}
	db.BindID(s, job) // for its namespace
	return db.Exec(s)
}

// AuditQueue records what a person did to a queue, of which nothing is told but that.
func AuditQueue(t *Tx, actor, action string, queue int64, detail string) error {
	return AuditChange(t, queue, store.AuditEntry{Actor: actor, Action: action, Detail: detail})
}

// AuditChange records a change of what people have set: of a queue that has this number, or, for 0,
// of a job or something else.
func AuditChange(t *Tx, queue int64, e store.AuditEntry) error {
	t.Changed = true
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
