package schema

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/internal/sqltext"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

const (
	// resetWait is how long a reset waits for a lock. Everybody else queues up behind it.
	resetWait = 10 * time.Second
	// codeDependents is PostgreSQL's code for what others depend on.
	codeDependents = "2BP01"
)

// Reset drops what the migrations have made and makes it again, in one transaction.
func (s *Tables) Reset(ctx context.Context) (store.Schema, error) {
	found := store.Schema{Latest: s.latest()}
	err := pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginBulk, func(t pg.Session) (err error) {
			if found.Version, err = s.begin(ctx, t); err != nil {
				return err
			}
			if err := s.dropAll(ctx, t); err != nil {
				return err
			}
			for _, m := range with(s.Later) {
				if err := t.Exec(ctx, pg.InSchema(m.SQL, s.SchemaName)); err != nil {
					return fmt.Errorf("migration %d (%s): %w", m.Version, m.Name, err)
				}
			}
			found.Version = s.latest()
			return nil
		})
	})
	if dependents, ok := errors.AsType[*pgconn.PgError](err); ok && dependents.Code == codeDependents {
		err = fmt.Errorf("%w: something else depends on what is to be dropped: %s", store.ErrConflict, dependents.Detail)
	}
	return found, err
}

// begin takes the locks of a reset, and refuses a database that has no schema, one from the future,
// or a living node.
func (s *Tables) begin(ctx context.Context, t pg.Session) (version int, err error) {
	if err := t.RunAll(ctx, []pg.Statement{pg.WaitAtMost(resetWait)}); err != nil {
		return 0, err
	}
	for _, name := range []string{"migrate", "partitions"} {
		if _, err := t.Tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1::bigint)", s.LockKey(name)); err != nil {
			return 0, err
		}
	}
	if version, err = s.schemaVersion(ctx, t); err != nil {
		return 0, err
	}
	if version == 0 {
		return 0, fmt.Errorf("%w: the database has no tables of Holdfast; run holdfast migrate up", store.ErrSchema)
	}
	if err := (store.Schema{Version: version, Latest: s.latest()}).CheckSame(); err != nil {
		return version, err
	}
	if err := t.Run(ctx, "reset_lock", nil); err != nil {
		return version, err
	}
	var node int64
	if err := t.Run(ctx, "reset_alive", func(r pg.Row) error { return r.Scan(&node) }); err != nil {
		return version, err
	}
	if node != 0 {
		return version, refusal.ResetNeedsQuiet(node)
	}
	return version, nil
}

// dropAll drops all that the migrations make: the triggers, the functions, some of which take rows
// of the tables, and then the tables, with which their partitions, indexes and sequences go. What
// something else depends on is not dropped.
func (s *Tables) dropAll(ctx context.Context, t pg.Session) error {
	var all strings.Builder
	for _, m := range with(s.Later) {
		all.WriteString(pg.InSchema(m.SQL, s.SchemaName))
	}
	var ours []string
	err := t.Run(ctx, "reset_functions", func(r pg.Row) error {
		var function string
		defer func() { ours = append(ours, function) }()
		return r.Scan(&function)
	}, s.SchemaName, sqltext.Made(with(s.Later), "CREATE FUNCTION {schema}."), all.String())
	if err != nil {
		return err
	}
	if slices.ContainsFunc(ours, func(f string) bool { return strings.Contains(f, "feed_") }) { // the triggers of a feed that is on
		if err := t.Exec(ctx, s.Text("feed_end")); err != nil {
			return err
		}
	}
	if err := t.Exec(ctx, s.Text("reset_triggers")); err != nil {
		return err
	}
	if len(ours) > 0 {
		if err := t.Exec(ctx, "DROP FUNCTION "+strings.Join(ours, ", ")); err != nil {
			return err
		}
	}
	tables := sqltext.Made(with(s.Later), "CREATE TABLE {schema}.")
	names := make([]string, len(tables))
	for i, table := range tables {
		names[i] = pgx.Identifier{s.SchemaName, table}.Sanitize()
	}
	return t.Exec(ctx, "DROP TABLE IF EXISTS "+strings.Join(names, ", "))
}
