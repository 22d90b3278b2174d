package write

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// bindLanes is the statement that makes the lanes of runs whose jobs are to be bound to a version,
// or nil.
func bindLanes(runs []*Run, today int32) *pg.Statement {
	var ids []pgtype.UUID
	var versions []string
	for _, r := range runs {
		if r.version != "" {
			ids, versions = append(ids, pg.UUIDOf(r.Lease.Job)), append(versions, r.version)
		}
	}
	if ids == nil {
		return nil
	}
	return &pg.Statement{Name: "lanes_bind", Args: []any{ids, versions, today}}
}
