package meter

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Pin begins a transaction that sees the database as it is now until release is called: PostgreSQL
// cannot vacuum what died since, and SQLite cannot restart its log.
func (m *Meter) Pin(ctx context.Context) (release func() error, err error) {
	if m.conn == nil {
		return m.pinFile()
	}
	conn, err := pgx.Connect(ctx, m.db.URL)
	if err != nil {
		return nil, err
	}
	for _, statement := range []string{`BEGIN ISOLATION LEVEL REPEATABLE READ`, `SELECT count(*) FROM pg_class`} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return nil, errors.Join(err, conn.Close(ctx))
		}
	}
	return func() error { return conn.Close(context.WithoutCancel(ctx)) }, nil
}

func (m *Meter) pinFile() (release func() error, err error) {
	conn, err := sqlite.OpenConn(m.db.URL, sqlite.OpenReadOnly|sqlite.OpenWAL)
	if err != nil {
		return nil, err
	}
	for _, statement := range []string{`BEGIN`, `SELECT count(*) FROM sqlite_schema`} {
		if err := sqlitex.ExecuteTransient(conn, statement, nil); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn.Close, nil
}

// isDenied tells whether the server has refused because of who we are.
func isDenied(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "42501"
}
