package pg

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast/store"
)

// oldestServer is the oldest version that has all that the statements need.
const oldestServer = 14

// OnPool returns the database of a pool of the caller's.
func OnPool(pool *pgxpool.Pool, options Options) *DB {
	return onCallers(pgxConns{pool, nil}, options)
}

// OnSQL returns the database of a pool of the caller's of database/sql.
func OnSQL(db *sql.DB, options Options) *DB { return onCallers(&sqlConns{db: db}, options) }

func onCallers(conns Conns, options Options) *DB {
	return &DB{Options: options, Conns: conns, Kinds: &Kinds{}, Texts: statementsIn(options.SchemaName), prelude: prelude(pins)}
}

// Dial opens a pool of our own, whose connections have the pins and the vigils; or none of them,
// where something in between refuses settings.
func Dial(ctx context.Context, config *pgxpool.Config, options Options) (*DB, error) {
	s := &DB{Options: options, Kinds: &Kinds{}, Texts: statementsIn(options.SchemaName)}
	s.lines.through(config)
	if config.ConnConfig.RuntimeParams["application_name"] == "" && !s.NoSession {
		config.ConnConfig.RuntimeParams["application_name"] = ApplicationName(s.SchemaName)
	}
	if !s.NoSession {
		pinned := config.Copy()
		for _, p := range slices.Concat(pins, vigils) {
			pinned.ConnConfig.RuntimeParams[p[0]] = p[1]
		}
		pinned.ConnConfig.RuntimeParams["default_transaction_isolation"] = "read committed"
		pool, err := newPool(ctx, pinned)
		if !refusesSettings(err) {
			s.Conns = pgxConns{pool, s.Kinds}
			if err == nil {
				s.stick(pool)
			}
			return s, err
		}
		s.NoSession = true
		delete(config.ConnConfig.RuntimeParams, "application_name")
	}
	s.prelude = prelude(pins)
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	pool, err := newPool(ctx, config)
	s.Conns = pgxConns{pool, s.Kinds}
	return s, err
}

// ApplicationName is what connections to a schema are called on the server, unless the URL says
// otherwise. The server shows nothing but ASCII.
func ApplicationName(schema string) string {
	plain := func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}
	return "holdfast:" + strings.Map(plain, schema)
}

// refusesSettings reports whether a connection failed because something in between does not know
// our settings.
func refusesSettings(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == codeProtocol && strings.Contains(pgErr.Message, "startup parameter")
}

// IsConnection reports whether an error is of the connection and not an answer of the server.
func IsConnection(err error) bool { return CodeOf(err) == "" }

// Beside opens a connection beside the pool, all of whose connections may be in use. It is called
// name on the server, if that is not empty. What it is notified of is not the caller's: a handler
// that the caller has set, or that pgx has set for another connection, is left out.
func (d *DB) Beside(ctx context.Context, name string) (*pgx.Conn, error) {
	return d.Conns.Beside(ctx, func(config *pgx.ConnConfig) {
		config.OnNotification = nil
		if d.NoSession {
			config.DefaultQueryExecMode = pgx.QueryExecModeExec
		}
		if name != "" {
			config.RuntimeParams["application_name"] = name
		}
	})
}

// CheckServer refuses a server that is too old, and finds out whether transactions are at READ
// COMMITTED by themselves. What waits for a lock relies on seeing what was committed meanwhile.
// Connections of our own are told so as they begin, those of a caller's pool, or behind a pooler,
// have the default of their role, database or address.
func (d *DB) CheckServer(ctx context.Context) error {
	return d.Conns.With(ctx, func(conn *pgx.Conn) error {
		text := conn.PgConn().ParameterStatus("server_version")
		major, _, _ := strings.Cut(text, ".")
		if version, err := strconv.Atoi(major); err == nil && version < oldestServer {
			return fmt.Errorf("%w: the server is PostgreSQL %s; Holdfast needs %d or newer", store.ErrInvalid, text, oldestServer)
		}
		if d.prelude == "" {
			return nil
		}
		var level string
		err := conn.QueryRow(ctx, "SELECT current_setting('default_transaction_isolation')", pgx.QueryExecModeExec).Scan(&level)
		d.begins = level != "read committed"
		return err
	})
}

// Close ends everything, within about a second more than calls that are in flight take. A pool of
// the caller's stays open.
func (d *DB) Close(ownPool bool) {
	d.closed.Store(true)
	d.closeVital()
	if ownPool {
		d.closePool()
	}
}

// newPool opens the pool of a store that was given a URL.
func newPool(ctx context.Context, config *pgxpool.Config) (*pgxpool.Pool, error) {
	// By default a connection that was idle for a second is pinged, which doubles the traffic of an
	// idle node. Its beats use the connection that was used last; what lay about for longer than a
	// beat, or was kept and then lay about, is still tested.
	config.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool { return p.IdleDuration > 10*time.Second }
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}
