package faulttest

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// database is a database that belongs to one test.
type database struct {
	source store.Source
	dsn    string // the same for a process, as store/dsn reads it
	url    string // of PostgreSQL; "" if it is not that
	path   string // of the file of SQLite
}

// onEach runs a test on both databases at the same time.
func onEach(t *testing.T, test func(t *testing.T, db *database)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, onSQLite(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, onPostgres(t))
	})
}

func onSQLite(t *testing.T) *database {
	t.Helper()
	path := filepath.Join(t.TempDir(), "holdfast.db")
	return &database{source: sqlite.File(path), dsn: "sqlite:" + path, path: path}
}

func onPostgres(t *testing.T) *database {
	t.Helper()
	url := ready.Database(t)
	return &database{source: postgres.URL(url), dsn: url, url: url}
}

// open opens a client of the database, as one more process would.
func (db *database) open(t *testing.T, opts ...holdfast.Option) *holdfast.Client {
	t.Helper()
	return open(t, db.source, opts...)
}

// wrapped is the database with another store around its own.
func (db *database) wrapped(wrap func(store.Store) store.Store) *database {
	other := *db
	other.source = wrapping{db.source, wrap}
	return &other
}

// wrapping is a source that puts each store that it opens into another one.
type wrapping struct {
	store.Source

	wrap func(store.Store) store.Store
}

func (w wrapping) Open(ctx context.Context) (store.Store, error) {
	st, err := w.Source.Open(ctx)
	if err != nil {
		return nil, err
	}
	return w.wrap(st), nil
}

// pool connects to the database as its owner does, beside Holdfast.
func pool(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	p, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// connect returns one connection.
func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// sqlDB opens the database with database/sql.
func (db *database) sqlDB(t *testing.T) *sql.DB {
	t.Helper()
	driver, name := "pgx", db.url
	if db.url == "" {
		driver, name = "sqlite", "file:"+db.path+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)"
	}
	handle, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = handle.Close() })
	return handle
}

// querier is a connection or a pool.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// value asks PostgreSQL for one value.
func value[T any](t *testing.T, q querier, query string, args ...any) (v T) {
	t.Helper()
	if err := q.QueryRow(t.Context(), query, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

// execute runs statements on PostgreSQL.
func execute(t *testing.T, p *pgxpool.Pool, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := p.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}
