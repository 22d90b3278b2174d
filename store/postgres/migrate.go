package postgres

import (
	"context"
	"embed"
	"fmt"
	"hash/fnv"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/sqltext"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations are the steps of the schema in order: files named NNNN_name.sql, which are never changed once released.
// Each records itself in the table migration, so that a person may run them as well.
var migrations = sqltext.Must(sqltext.Migrations(migrationFiles, "migrations"))

// migrationsIn returns the steps for a schema.
func migrationsIn(schema string) []store.Migration {
	steps := make([]store.Migration, len(migrations))
	for i, m := range migrations {
		m.SQL = inSchema(m.SQL, schema)
		steps[i] = m
	}
	return steps
}

// schema reads the version of the database.
func (s *schemaStore) schema(ctx context.Context) (store.Schema, error) {
	schema := store.Schema{Latest: len(migrations)}
	err := s.inTx(ctx, beginRead, func(t session) (err error) {
		schema.Version, err = s.schemaVersion(ctx, t)
		return err
	})
	return schema, err
}

// fromTheFuture refuses a schema that is newer than this program.
func fromTheFuture(schema store.Schema) error {
	if schema.Version <= schema.Latest {
		return nil
	}
	return fmt.Errorf("%w: the database has version %d, this program supports up to %d; use a newer version of it",
		store.ErrSchema, schema.Version, schema.Latest)
}

// schemaVersion returns 0 if nothing of ours is there.
func (s *schemaStore) schemaVersion(ctx context.Context, t session) (version int, err error) {
	exists := false
	if err := t.run(ctx, "schema_exists", func(r row) error { return r.Scan(&exists) }, s.SchemaName); err != nil || !exists {
		return 0, err
	}
	err = t.run(ctx, "schema_version", func(r row) error { return r.Scan(&version) })
	return version, err
}

// migrate takes the steps that are missing, each in a transaction of its own. An advisory lock, which a transaction holds and so
// works through poolers, lets one process at a time do it; the others find nothing left to do.
func (s *schemaStore) migrate(ctx context.Context) (store.Schema, error) {
	schema, err := s.schema(ctx)
	if err == nil {
		err = fromTheFuture(schema)
	}
	if err != nil {
		return schema, err
	}
	for schema.Version < schema.Latest {
		err := retryOnConflict(ctx, func() error {
			return s.inTx(ctx, beginBulk, func(t session) error {
				if _, err := t.tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1::bigint)", s.lockKey("migrate")); err != nil {
					return err
				}
				version, err := s.schemaVersion(ctx, t)
				if err != nil {
					return err
				}
				schema.Version = version
				if version >= schema.Latest {
					return fromTheFuture(schema)
				}
				schema.Version++
				// Without parameters this is the simple protocol, which takes many statements at once.
				_, err = t.tx.Exec(ctx, inSchema(migrations[version].SQL, s.SchemaName), pgx.QueryExecModeSimpleProtocol)
				return err
			})
		})
		if err != nil {
			return schema, err
		}
	}
	return schema, nil
}

// lockKey returns the number of an advisory lock of this schema.
func (s *schemaStore) lockKey(name string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte("holdfast/" + s.SchemaName + "/" + name)) // never fails
	return int64(h.Sum64())
}
