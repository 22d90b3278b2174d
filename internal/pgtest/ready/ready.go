// Package ready provides PostgreSQL databases that have the tables of Holdfast, for tests that are
// not about how these are made. It is for PostgreSQL what internal/sqlitetest is for SQLite.
//
// To make the tables takes longer than most tests do, so that it happens once for a test binary,
// and each test gets a copy. Where pgtest cannot copy, each test makes them.
//
// It imports internal/pgtest and store/postgres.
package ready

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// Database returns the URL of a database that is the test's own. It has the tables, and nothing in
// them. It skips the test where pgtest.Shared does.
func Database(tb testing.TB) string {
	tb.Helper()
	url := pgtest.Shared(tb).Copy(tb, migrate)
	if err := rename(tb.Context(), url); err != nil {
		tb.Fatalf("give a copy of a database an identity of its own: %v", err)
	}
	return url
}

func migrate(ctx context.Context, url string) error {
	_, err := postgres.URL(url).Migrate(ctx)
	return err
}

// rename makes a database another one than that of which it is a copy.
func rename(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "UPDATE holdfast.meta SET value = replace(gen_random_uuid()::text, '-', '') WHERE name = 'database_id'")
	return errors.Join(err, conn.Close(ctx))
}
