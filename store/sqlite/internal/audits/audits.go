// Package audits lists what people did. It imports core, db and store.
package audits

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Verbs are those of store.Audits.
type Verbs struct{ d *core.Database }

// New returns the verbs of a database.
func New(d *core.Database) Verbs { return Verbs{d} }

// ListAudit implements store.Audits.
func (v Verbs) ListAudit(ctx context.Context, params store.AuditParams) (all []store.AuditEntry, err error) {
	if err := audited.Check(&params); err != nil {
		return nil, err
	}
	err = v.d.Read(ctx, "list what people did", func(t *core.Tx) error {
		all = nil
		s := statement(t, &params)
		return db.Each(s, func() error {
			all = append(all, read(s))
			return nil
		})
	})
	return all, err
}

// statement is the one whose index fits best.
func statement(t *core.Tx, p *store.AuditParams) (s db.Stmt) {
	anywhere := true
	switch {
	case p.Job != store.ID{}:
		s = t.Stmt("audit_of")
		db.BindID(s, p.Job)
	case p.Target.Name != "":
		s = t.Stmt("audit_to")
		s.BindText(p.Target.Kind)
		s.BindText(p.Target.Name)
	case p.Namespace != "":
		s, anywhere = t.Stmt("audit_in"), false
		s.BindText(p.Namespace)
	default:
		s, anywhere = t.Stmt("audit_all"), false
	}
	since, at, seq := audited.Bounds(p)
	s.BindInt(since)
	s.BindInt(at)
	s.BindInt(seq)
	if anywhere {
		bindOpt(s, p.Namespace)
	}
	bindOpt(s, p.Actor)
	bindOpt(s, p.Action)
	bindOpt(s, p.Target.Kind)
	s.BindInt(db.BoolInt(p.Target.Kind == store.AuditJob))
	s.BindInt(int64(p.Limit))
	return s
}

// bindOpt binds whether any text is asked for, and the one that is.
func bindOpt(s db.Stmt, text string) {
	s.BindInt(db.BoolInt(text == ""))
	s.BindText(text)
}

func read(s db.Stmt) (e store.AuditEntry) {
	e.Seq, e.At, e.Actor, e.Action = s.ReadInt(), db.ReadTime(s), s.ReadText(), s.ReadText()
	e.Namespace, e.Target.Kind, e.Target.Name = db.ReadOptText(s), db.ReadOptText(s), db.ReadOptText(s)
	if !s.ReadNull() {
		e.Job = db.ReadID(s)
		e.Target = store.AuditTarget{Kind: store.AuditJob, Name: e.Job.String()}
	}
	e.Detail, e.Before, e.After = db.ReadOptText(s), db.ReadOptText(s), db.ReadOptText(s)
	return e
}
