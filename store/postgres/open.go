package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfastdev/holdfast/store"
)

// connectTimeout bounds a connection attempt where the URL does not say.
const connectTimeout = 10 * time.Second

// oldestServer is the oldest version that has all that the statements need.
const oldestServer = 14

// storeName is what Traits and transactions call this store.
const storeName = "postgres"

var _ store.Source = Config{}

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

// Drop removes the schema with all jobs in it, and whatever else somebody has put there. It is for schemas that were made to try
// something out. No store may have it open.
func (c Config) Drop(ctx context.Context) error {
	s, err := c.connect(ctx)
	if err == nil {
		_, err = s.pool.Exec(ctx, s.text("schema_drop"))
		_ = s.Close() // never fails
	}
	return classify(ctx, "drop "+c.String(), err)
}
