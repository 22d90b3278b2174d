package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/sqltext"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// shipped are the steps of the schema in order: files named NNNN_name.sql, which are never changed
// once released. Each records itself in holdfast_migration, so that a person may run them as well.
var shipped = sqltext.Must(sqltext.Migrations(migrationFiles, "migrations"))

// Migrations implements store.Source.
func (c Config) Migrations() []store.Migration {
	if c.later != nil {
		return append(slices.Clip(shipped), *c.later)
	}
	return shipped
}

// latest is the version that the migrations make.
func (c Config) latest() int { return len(c.Migrations()) }

// Migrate implements store.Source. It creates the file if there is none. Migrating a Memory
// database does nothing, as it is gone afterwards.
func (c Config) Migrate(ctx context.Context) (store.Schema, error) {
	if c.Path == Memory {
		return store.Schema{Latest: c.latest()}, nil
	}
	c.NoMigrate = false
	schema, err := c.onConn(ctx, func(w *db.Conn) (store.Schema, error) { return c.migrate(ctx, w) })
	return schema, db.Classify("migrate "+c.Path, db.OfFile(c.Path, err))
}

// Schema implements store.Source. Where there is no file the version is 0.
func (c Config) Schema(ctx context.Context) (store.Schema, error) {
	if _, err := os.Stat(c.Path); c.Path == Memory || errors.Is(err, fs.ErrNotExist) {
		return store.Schema{Latest: c.latest()}, nil
	}
	cfg, err := c.withDefaults()
	if err != nil {
		return store.Schema{}, db.Classify("read the schema of "+c.Path, err)
	}
	r, err := db.OpenReader(ctx, cfg.Path)
	if err != nil {
		return store.Schema{}, db.Classify("read the schema of "+c.Path, db.OfFile(c.Path, db.CantOpen(cfg.Path, err)))
	}
	schema, err := c.schemaOf(ctx, r)
	return schema, db.Classify("read the schema of "+c.Path, db.OfFile(c.Path, errors.Join(err, r.Close())))
}

func (c Config) onConn(ctx context.Context, f func(*db.Conn) (store.Schema, error)) (store.Schema, error) {
	c, err := c.withDefaults()
	if err != nil {
		return store.Schema{}, err
	}
	if _, err := c.denied(c.Path); err != nil {
		return store.Schema{}, err
	}
	if _, err := c.appear(c.Path); err != nil {
		return store.Schema{}, err
	}
	w, err := c.openWriter(ctx, c.Path)
	if err != nil {
		return store.Schema{}, err
	}
	schema, err := f(w)
	return schema, errors.Join(err, w.Close())
}

// migrate applies what is missing, each step in a transaction of its own. Processes that migrate at
// the same time take turns: each looks at the version again when it has the write lock.
func (c Config) migrate(ctx context.Context, w *db.Conn) (store.Schema, error) {
	schema, err := c.schemaOf(ctx, w)
	for err == nil && schema.Version < schema.Latest {
		err = db.Patient(ctx, func() error {
			if err := w.BeginImmediate(); err != nil {
				return err
			}
			defer w.Rollback() // does nothing after the commit
			version, err := appliedVersion(w)
			if err != nil {
				return err
			}
			if version >= schema.Latest {
				return nil
			}
			step := c.Migrations()[version]
			if err := w.Script(step.SQL); err != nil {
				return fmt.Errorf("migration %d (%s): %w", step.Version, step.Name, err)
			}
			return w.Commit()
		})
		if err == nil {
			schema, err = c.schemaOf(ctx, w)
		}
	}
	if err == nil {
		err = schema.Check()
	}
	return schema, err
}

// schemaOf returns the version of the database, and, if it is later than this program's, which
// programs it serves.
func (c Config) schemaOf(ctx context.Context, conn *db.Conn) (store.Schema, error) {
	schema := store.Schema{Latest: c.latest()}
	err := db.Patient(ctx, func() (err error) {
		if schema.Version, err = appliedVersion(conn); err != nil || schema.Version <= schema.Latest {
			return err
		}
		serves, err := conn.One(fmt.Sprintf("SELECT CASE WHEN max(serves IS NULL) THEN 0 ELSE max(serves) END "+
			"FROM holdfast_migration WHERE version > %d", schema.Latest))
		if err != nil {
			return err
		}
		schema.Serves, err = strconv.Atoi(serves)
		return err
	})
	return schema, err
}

func appliedVersion(c *db.Conn) (int, error) {
	found, err := c.One("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'holdfast_migration'")
	if err != nil || found == "" {
		return 0, err
	}
	version, err := c.One("SELECT max(version) FROM holdfast_migration")
	if err != nil || version == "" {
		return 0, err
	}
	return strconv.Atoi(version)
}
