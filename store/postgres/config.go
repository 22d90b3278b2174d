package postgres

import (
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast/store"
)

// Config is a PostgreSQL database and how to use it. It is a store.Source. Set URL, Pool or DB.
type Config struct {
	// URL of the database, or a connection string of keywords, as pgx and libpq understand them.
	// The environment variables of libpq (PGHOST, PGUSER, …) fill in what it leaves out. The store
	// opens and closes a pool of its own.
	URL string
	// Pool of the caller's. It stays the caller's, and is not closed. Watch and, rarely, EnqueueTx
	// open connections of their own with its settings; none of its connections is kept, changed, or
	// listened on.
	Pool *pgxpool.Pool
	// DB is a pool of database/sql, whose driver is that of pgx (pgx/v5/stdlib); Open refuses
	// others. It stays the caller's like a Pool, and connections beside it have the settings of one
	// of its own, without what its hooks do. SetMaxIdleConns should allow ten or more: by default
	// database/sql keeps two connections, and a busy node makes others again and again.
	DB *sql.DB
	// SchemaName is the database schema that holds the tables. Default: holdfast.
	SchemaName string
	// NoMigrate makes Open fail with store.ErrSchema instead of bringing the schema up to date.
	NoMigrate bool
	// NoSession does without whatever belongs to a session: LISTEN, settings, prepared statements.
	// It is for poolers in transaction mode. Nodes then poll, and small operations cost more, as
	// they are planned each time. With a Pool set its DefaultQueryExecMode too
	// (pgx.QueryExecModeCacheDescribe), unless the pooler keeps prepared statements. A URL whose
	// server refuses our settings, as PgBouncer does, is used like this by itself.
	NoSession bool
	// MaxConns is the size of the pool that a URL opens. Default: pool_max_conns of the URL, or 10.
	MaxConns int
	// Clock is the time of everything in the store, for tests. Default: the database's clock.
	Clock func() time.Time

	later *store.Migration // one more than this program has, of tests; of {schema}
}

// withDefaults completes and checks the configuration.
func (c Config) withDefaults() (Config, error) {
	if c.SchemaName == "" {
		c.SchemaName = "holdfast"
	}
	if len(c.SchemaName) > 48 || strings.ContainsAny(c.SchemaName, "\x00{}") {
		return c, fmt.Errorf("%w: the schema name %q is longer than 48 bytes or contains NUL, { or }", store.ErrInvalid, c.SchemaName)
	}
	if c.SchemaName == "$user" {
		return c, fmt.Errorf(`%w: the schema name "$user" stands for the name of the role in search paths; choose another`, store.ErrInvalid)
	}
	given := 0
	for _, is := range []bool{c.URL != "", c.Pool != nil, c.DB != nil} {
		if is {
			given++
		}
	}
	switch given {
	case 0:
		return c, fmt.Errorf("%w: no URL, pool or *sql.DB is given; set one of them", store.ErrInvalid)
	case 1:
		return c, nil
	}
	return c, fmt.Errorf("%w: more than one of URL, pool and *sql.DB is given; set only one of them", store.ErrInvalid)
}

// URL returns the source for a database, with the defaults of Config.
func URL(url string) Config { return Config{URL: url} }

// Pool returns the source for the database of a pool that the caller keeps, with the defaults of
// Config.
func Pool(pool *pgxpool.Pool) Config { return Config{Pool: pool} }

// DB returns the source for the database of a pool of database/sql that the caller keeps, with the
// defaults of Config. Its driver must be that of pgx:
//
//	import _ "github.com/jackc/pgx/v5/stdlib"
//
//	db, err := sql.Open("pgx", "postgres://app@db/app")
func DB(db *sql.DB) Config { return Config{DB: db} }
