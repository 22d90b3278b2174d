package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast/store"
)

// connectTimeout bounds a connection attempt where the URL does not say.
const connectTimeout = 10 * time.Second

// oldestServer is the oldest version that has all that the statements need.
const oldestServer = 14

// storeName is what Traits and transactions call this store.
const storeName = "postgres"

// Config is a PostgreSQL database and how to use it. It is a store.Source. Set URL or Pool.
type Config struct {
	// URL of the database, or a connection string of keywords, as pgx and libpq understand them. The environment
	// variables of libpq (PGHOST, PGUSER, …) fill in what it leaves out. The store opens and closes a pool of its own.
	URL string
	// Pool of the caller's. It stays the caller's, and is not closed. Watch and, rarely, EnqueueTx open connections of their
	// own with its settings; none of its connections is kept, changed, or listened on.
	Pool *pgxpool.Pool
	// SchemaName is the database schema that holds the tables. Default: holdfast.
	SchemaName string
	// NoMigrate makes Open fail with store.ErrSchema instead of bringing the schema up to date.
	NoMigrate bool
	// NoSession does without whatever belongs to a session: LISTEN, settings, prepared statements. It is for poolers in
	// transaction mode. Nodes then poll, and small operations cost more, as they are planned each time. With a Pool
	// set its DefaultQueryExecMode too (pgx.QueryExecModeCacheDescribe), unless the pooler keeps prepared statements.
	// A URL whose server refuses our settings, as PgBouncer does, is used like this by itself.
	NoSession bool
	// MaxConns is the size of the pool that a URL opens. Default: pool_max_conns of the URL, or 10.
	MaxConns int
	// Clock is the time of everything in the store, for tests. Default: the database's clock.
	Clock func() time.Time
}

var _ store.Source = Config{}

// URL returns the source for a database, with the defaults of Config.
func URL(url string) Config { return Config{URL: url} }

// Pool returns the source for the database of a pool that the caller keeps, with the defaults of Config.
func Pool(pool *pgxpool.Pool) Config { return Config{Pool: pool} }

// String implements store.Source.
func (c Config) String() string {
	config, err := c.connConfig()
	if err != nil {
		return "postgres:(invalid)"
	}
	u := url.URL{Scheme: "postgres", Host: config.Host, Path: "/" + config.Database}
	query := url.Values{}
	if config.User != "" {
		u.User = url.User(config.User)
	}
	port := ""
	if config.Port != 0 && config.Port != 5432 {
		port = strconv.Itoa(int(config.Port))
	}
	switch {
	case isSocket(config.Host):
		u.Host = ""
		query.Set("host", config.Host)
		if port != "" {
			query.Set("port", port)
		}
	case port != "":
		u.Host = net.JoinHostPort(config.Host, port)
	case strings.Contains(config.Host, ":"):
		u.Host = "[" + config.Host + "]"
	}
	if c.SchemaName != "" {
		query.Set("schema", c.SchemaName)
	}
	u.RawQuery = strings.ReplaceAll(query.Encode(), "%2F", "/")
	return u.String()
}

// isSocket reports whether a host is the folder of a Unix socket.
func isSocket(host string) bool { return strings.HasPrefix(host, "/") }

// connConfig returns the settings of connections, without ours.
func (c Config) connConfig() (*pgx.ConnConfig, error) {
	if c.Pool != nil {
		return c.Pool.Config().ConnConfig, nil
	}
	config, err := c.parse()
	if err != nil {
		return nil, err
	}
	return config.ConnConfig, nil
}

// withDefaults completes and checks the configuration.
func (c Config) withDefaults() (Config, error) {
	if c.SchemaName == "" {
		c.SchemaName = "holdfast"
	}
	if len(c.SchemaName) > 48 || strings.ContainsAny(c.SchemaName, "\x00{}") {
		return c, fmt.Errorf("%w: the schema name %q is longer than 48 bytes or contains NUL, { or }", store.ErrInvalid, c.SchemaName)
	}
	if c.Pool == nil && c.URL == "" {
		return c, fmt.Errorf("%w: neither a URL nor a pool is given; set one of them", store.ErrInvalid)
	}
	if c.Pool != nil && c.URL != "" {
		return c, fmt.Errorf("%w: both a URL and a pool are given; set only one of them", store.ErrInvalid)
	}
	return c, nil
}

// Store is an open database. Use Config.Open.
type Store struct {
	config  Config
	pool    *pgxpool.Pool
	texts   map[string]string
	prelude string // what pins plans for one pipeline, or "" if the connections do it
	origin  string // tells our notifications from those of others

	offset atomic.Int64 // microseconds that the database's clock is ahead of ours

	clockRead atomic.Pointer[time.Time] // when that was measured
	wakeups   atomic.Bool               // notifications arrive
	horizon   atomic.Int64              // the time until which there are partitions

	retired   atomic.Int64 // the day on which lanes were removed last, and up to which
	forgotten atomic.Int64 // the last record of what people did that retention looked at

	lanes    laneCache
	cursors  cursors
	blocked  blocked
	vital    vital
	beside   door // to connections for lanes, beside the pool
	notifier notifier

	lookedMu sync.Mutex
	looked   map[looked]time.Time // partitions that retention leaves alone for a while
	moveMost int                  // how many entries it moves; maxMoved

	closed atomic.Bool
	close  sync.Once
}

var _ store.Store = (*Store)(nil)

// Open implements store.Source. It fails with ErrUnavailable if the server cannot be reached, ErrReadOnly if it is a standby
// whose schema is to be brought up to date, ErrInvalid if the server refuses the user or the database is not there, and
// ErrSchema if the schema does not fit.
func (c Config) Open(ctx context.Context) (store.Store, error) {
	s, err := c.open(ctx)
	if err != nil {
		return nil, classify(ctx, "", err)
	}
	return s, nil
}

func (c Config) open(ctx context.Context) (*Store, error) {
	s, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// ready brings the schema up to date, or checks that it is, and makes the partitions of the days to come.
func (s *Store) ready(ctx context.Context) error {
	if err := s.checkServer(ctx); err != nil {
		return err
	}
	if s.config.NoMigrate {
		schema, err := s.schema(ctx)
		if err != nil {
			return err
		}
		if schema.Version < schema.Latest {
			return fmt.Errorf("%w: the database has version %d, this program needs %d; run holdfast migrate up",
				store.ErrSchema, schema.Version, schema.Latest)
		}
		if err := fromTheFuture(schema); err != nil {
			return err
		}
	} else if _, err := s.migrate(ctx); err != nil {
		return err
	}
	if err := s.measureClock(ctx); err != nil {
		return err
	}
	// Without them jobs go to the default partition, which works: on a standby, or with few rights, reading still does.
	if err := s.extendPartitions(ctx); err != nil && isConnection(err) {
		return err
	}
	return nil
}

// checkServer refuses a server that is too old.
func (s *Store) checkServer(ctx context.Context) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	text := conn.Conn().PgConn().ParameterStatus("server_version")
	major, _, _ := strings.Cut(text, ".")
	if version, err := strconv.Atoi(major); err == nil && version < oldestServer {
		return fmt.Errorf("%w: the server is PostgreSQL %s; Holdfast needs %d or newer", store.ErrInvalid, text, oldestServer)
	}
	return nil
}

// connect returns a store on a pool, without a look at the schema.
func (c Config) connect(ctx context.Context) (*Store, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{config: c, pool: c.Pool, texts: statementsIn(c.SchemaName), origin: newOrigin(), moveMost: maxMoved}
	s.notifier.init(s)
	if c.Clock == nil {
		s.cursors.clock = time.Now
	}
	if c.Pool != nil {
		s.prelude = prelude(pins)
		return s, nil
	}
	config, err := c.parse()
	if err != nil {
		return nil, err
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	if c.MaxConns > 0 {
		config.MaxConns = int32(c.MaxConns)
	} else if !strings.Contains(c.URL, "pool_max_conns") {
		config.MaxConns = 10
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" && !c.NoSession {
		config.ConnConfig.RuntimeParams["application_name"] = applicationName(c.SchemaName)
	}
	if !c.NoSession {
		pinned := config.Copy()
		for _, p := range slices.Concat(pins, vigils) {
			pinned.ConnConfig.RuntimeParams[p[0]] = p[1]
		}
		pinned.ConnConfig.RuntimeParams["default_transaction_isolation"] = "read committed"
		s.pool, err = newPool(ctx, pinned)
		if !refusesSettings(err) {
			return s, err
		}
		s.config.NoSession = true
		delete(config.ConnConfig.RuntimeParams, "application_name")
	}
	s.prelude = prelude(pins)
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	s.pool, err = newPool(ctx, config)
	return s, err
}

// applicationName is what connections to a schema are called on the server, unless the URL says otherwise.
// The server shows nothing but ASCII.
func applicationName(schema string) string {
	plain := func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}
	return "holdfast:" + strings.Map(plain, schema)
}

// refusesSettings reports whether a connection failed because something in between does not know our settings.
func refusesSettings(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == codeProtocol && strings.Contains(pgErr.Message, "startup parameter")
}

// isConnection reports whether an error is of the connection and not an answer of the server.
func isConnection(err error) bool { return codeOf(err) == "" }

// connConfig returns the settings for a connection beside the pool.
func (s *Store) connConfig() *pgx.ConnConfig {
	config := s.pool.Config().ConnConfig.Copy()
	if s.config.NoSession {
		config.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	return config
}

// Traits implements store.Store.
func (s *Store) Traits() store.Traits {
	return store.Traits{Name: storeName, Concurrent: true, Wakeups: s.wakeups.Load(), MaxBatch: 1000}
}

func (s *Store) isClosed() bool { return s.closed.Load() }

// Close implements store.Store. A pool of the caller's stays open.
func (s *Store) Close() error {
	s.close.Do(func() {
		s.notifier.stop()
		s.closed.Store(true)
		s.closeVital()
		if s.config.Pool == nil && s.pool != nil {
			s.pool.Close()
		}
	})
	return nil
}
