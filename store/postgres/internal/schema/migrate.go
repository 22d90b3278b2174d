package schema

import (
	"context"
	"embed"
	"fmt"
	"hash/fnv"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/sqltext"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations are the steps of the schema in order: files named NNNN_name.sql, which are never
// changed once released. Each records itself in the table migration, so that a person may run them
// as well.
var migrations = sqltext.Must(sqltext.Migrations(migrationFiles, "migrations"))

// MigrationsIn returns the steps for a schema.
func MigrationsIn(schema string) []store.Migration {
	steps := make([]store.Migration, len(migrations))
	for i, m := range migrations {
		m.SQL = pg.InSchema(m.SQL, schema)
		steps[i] = m
	}
	return steps
}

// Schema reads the version of the database, and, if it is later than this program's, which programs
// it serves.
func (s *Tables) Schema(ctx context.Context) (store.Schema, error) {
	schema := store.Schema{Latest: len(migrations)}
	err := s.InTx(ctx, pg.BeginRead, func(t pg.Session) (err error) {
		schema, err = s.schemaIn(ctx, t)
		return err
	})
	return schema, err
}

func (s *Tables) schemaIn(ctx context.Context, t pg.Session) (schema store.Schema, err error) {
	schema.Latest = len(migrations)
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
				step := migrations[schema.Version]
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
