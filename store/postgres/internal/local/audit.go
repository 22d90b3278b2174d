package local

import (
	"context"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Record writes what a person has changed, in the transaction that changes it.
func Record(ctx context.Context, t pg.Runner, now int64, e store.AuditEntry) error {
	kind, name, job := e.Target.Kind, e.Target.Name, pgtype.UUID{}
	if kind == store.AuditJob { // whose column says it
		kind, name, job = "", "", pg.UUIDOf(e.Job)
	}
	return t.Run(ctx, "audit_change", nil, now, pg.CleanText(e.Actor), e.Action, job, pg.OptText(e.Namespace), pg.OptText(kind),
		pg.OptText(pg.CleanText(name)), pg.OptText(pg.CleanText(e.Detail)), pg.OptText(e.Before), pg.OptText(e.After))
}
