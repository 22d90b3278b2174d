package schema

import (
	"context"
	"embed"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/sqltext"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// shipped are the steps of the schema in order: files named NNNN_name.sql, which are never changed
// once released. Each records itself in the table migration, so that a person may run them as well.
var shipped = sqltext.Must(sqltext.Migrations(migrationFiles, "migrations"))

// MigrationsIn returns the steps for a schema, with one more unless that is nil.
func MigrationsIn(schema string, later *store.Migration) []store.Migration {
	steps := with(later)
	for i := range steps {
		steps[i].SQL = pg.InSchema(steps[i].SQL, schema)
	}
	return steps
}

// with returns the steps, and one more unless that is nil.
func with(later *store.Migration) []store.Migration {
	steps := slices.Clone(shipped)
	if later != nil {
		steps = append(steps, *later)
	}
	return steps
}

// latest is the version that the steps make.
func (s *Tables) latest() int { return len(with(s.Later)) }

// Schema reads the version of the database, and, if it is later than this program's, which programs
// it serves.
func (s *Tables) Schema(ctx context.Context) (store.Schema, error) {
	schema := store.Schema{Latest: s.latest()}
	err := s.InTx(ctx, pg.BeginRead, func(t pg.Session) (err error) {
		schema, err = s.schemaIn(ctx, t)
		return err
	})
	return schema, err
}

func (s *Tables) schemaIn(ctx context.Context, t pg.Session) (schema store.Schema, err error) {
	schema.Latest = s.latest()
	if schema.Version, err = s.schemaVersion(ctx, t); err != nil || schema.Version <= schema.Latest {
		return schema, err
	}
	return schema, t.Run(ctx, "schema_serves", func(r pg.Row) error { return r.Scan(&schema.Serves) }, int32(schema.Latest))
}

// schemaVersion returns 0 if nothing of ours is there.
func (s *Tables) schemaVersion(ctx context.Context, t pg.Session) (version int, err error) {
	exists := false
	if err := t.Run(ctx, "schema_exists", func(r pg.Row) error { return r.Scan(&exists) }, s.SchemaName); err != nil || !exists {
		return 0, err
	}
	err = t.Run(ctx, "schema_version", func(r pg.Row) error { return r.Scan(&version) })
	return version, err
}

// Migrate takes the steps that are missing, each in a transaction of its own. An advisory lock,
// which a transaction holds and so works through poolers, lets one process at a time do it; the
// others find nothing left to do.
func (s *Tables) Migrate(ctx context.Context) (store.Schema, error) {
	schema, err := s.Schema(ctx)
	if err != nil {
		return schema, err
	}
	for schema.Version < schema.Latest {
		err := pg.RetryOnConflict(ctx, func() error {
			return s.InTx(ctx, pg.BeginBulk, func(t pg.Session) error {
				if _, err := t.Tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1::bigint)", s.LockKey("migrate")); err != nil {
					return err
				}
				if schema, err = s.schemaIn(ctx, t); err != nil {
					return err
				}
				if schema.Version >= schema.Latest {
					return nil
				}
				step := with(s.Later)[schema.Version]
				schema.Version++
				// Without parameters this is the simple protocol, which takes many statements at
				// once.
				if _, err = t.Tx.Exec(ctx, pg.InSchema(step.SQL, s.SchemaName), pgx.QueryExecModeSimpleProtocol); err != nil {
					return fmt.Errorf("migration %d (%s): %w", step.Version, step.Name, err)
				}
				return nil
			})
		})
		if err != nil {
			return schema, err
		}
	}
	return schema, schema.Check()
}

// LockKey returns the number of an advisory lock of this schema.
func (s *Tables) LockKey(name string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte("holdfast/" + s.SchemaName + "/" + name)) // never fails
	return int64(h.Sum64())
}
