package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/internal/sqltext"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

var _ store.Resets = Config{}

// resetting is called within the transaction of a reset after each step, with its version. Only
// tests change it.
var resetting = func(_ int) {}

// Reset implements store.Resets. The file stays, as large as it is: its pages are used again.
// Resetting a Memory database does nothing, as it is gone afterwards.
func (c Config) Reset(ctx context.Context) (store.Schema, error) {
	if c.Path == Memory {
		return store.Schema{Latest: c.latest()}, nil
	}
	if _, err := os.Stat(c.Path); errors.Is(err, fs.ErrNotExist) {
		return store.Schema{Latest: c.latest()}, fmt.Errorf("%w: there is no database %s", store.ErrSchema, c.Path)
	}
	c.NoMigrate = false
	schema, err := c.onConn(ctx, func(w *db.Conn) (store.Schema, error) { return c.reset(ctx, w) })
	return schema, db.Classify("reset "+c.Path, db.OfFile(c.Path, err))
}

func (c Config) reset(ctx context.Context, w *db.Conn) (store.Schema, error) {
	err := db.Patient(ctx, func() error {
		if err := w.BeginImmediate(); err != nil {
			return err
		}
		defer w.Rollback() // does nothing after the commit
		w.Interrupt(ctx.Done())
		err := c.startOver(w)
		w.Interrupt(nil)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		}
		return w.Commit()
	})
	if err != nil {
		return store.Schema{Latest: c.latest()}, err
	}
	return c.schemaOf(ctx, w)
}

// startOver drops the tables and makes them again, if no node lives.
func (c Config) startOver(w *db.Conn) error {
	version, err := appliedVersion(w)
	switch {
	case err != nil:
		return err
	case version == 0:
		return fmt.Errorf("%w: the database has no tables of Holdfast; run holdfast migrate up", store.ErrSchema)
	case version > c.latest():
		return store.Schema{Version: version, Latest: c.latest()}.CheckSame()
	}
	alive, err := w.One("SELECT min(id) FROM holdfast_node WHERE dead_at IS NULL")
	if err != nil {
		return err
	}
	if alive != "" {
		node, err := strconv.ParseInt(alive, 10, 64)
		return errors.Join(refusal.ResetNeedsQuiet(node), err)
	}
	// The indexes go with their tables.
	for _, table := range sqltext.Made(c.Migrations(), "CREATE TABLE ") {
		if err := w.Script("DROP TABLE IF EXISTS " + table); err != nil {
			return err
		}
	}
	for _, step := range c.Migrations() {
		if err := w.Script(step.SQL); err != nil {
			return fmt.Errorf("migration %d (%s): %w", step.Version, step.Name, err)
		}
		resetting(step.Version)
	}
	return nil
}
