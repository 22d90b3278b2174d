// Package audits lists what people did. It imports local, pg and store.
package audits

import (
	"context"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Store is what is asked of what people did.
type Store struct{ *local.Store }

// ListAudit is that of store.Audits, without the class of its error.
func (s *Store) ListAudit(ctx context.Context, params store.AuditParams) (all []store.AuditEntry, err error) {
	if err := audited.Check(&params); err != nil {
		return nil, err
	}
	st := statement(&params)
	st.Each = func(r pg.Row) error {
		var e store.AuditEntry
		var at int64
		var space, kind, name, detail, before, after *string
		var job pgtype.UUID
		err := r.Scan(&e.Seq, &at, &e.Actor, &e.Action, &space, &kind, &name, &job, &detail, &before, &after)
		e.At, e.Namespace, e.Target = pg.TimeOf(at), pg.TextOf(space), store.AuditTarget{Kind: pg.TextOf(kind), Name: pg.TextOf(name)}
		if job.Valid {
			e.Job = job.Bytes
			e.Target = store.AuditTarget{Kind: store.AuditJob, Name: e.Job.String()}
		}
		e.Detail, e.Before, e.After = pg.TextOf(detail), pg.TextOf(before), pg.TextOf(after)
		all = append(all, e)
		return err
	}
	return all, s.Read(ctx, st)
}

// statement is the one whose index fits best.
func statement(p *store.AuditParams) pg.Statement {
	since, at, seq := audited.Bounds(p)
	args := []any{p.Actor, p.Action, since, at, seq, int32(p.Limit), p.Target.Kind}
	switch {
	case p.Job != store.ID{}:
		return pg.Statement{Name: "audit_of", Args: append(args, p.Namespace, pg.UUIDOf(p.Job))}
	case p.Target.Name != "":
		return pg.Statement{Name: "audit_to", Args: append(args, p.Namespace, p.Target.Name)}
	case p.Namespace != "":
		return pg.Statement{Name: "audit_in", Args: append(args, p.Namespace)}
	}
	return pg.Statement{Name: "audit_all", Args: args}
}
