package postgres

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/apikeys"
	"github.com/holdfastdev/holdfast/store/postgres/internal/attributes"
	"github.com/holdfastdev/holdfast/store/postgres/internal/audits"
	"github.com/holdfastdev/holdfast/store/postgres/internal/batches"
	"github.com/holdfastdev/holdfast/store/postgres/internal/claims"
	"github.com/holdfastdev/holdfast/store/postgres/internal/classes"
	"github.com/holdfastdev/holdfast/store/postgres/internal/descriptors"
	"github.com/holdfastdev/holdfast/store/postgres/internal/endpoints"
	"github.com/holdfastdev/holdfast/store/postgres/internal/facts"
	"github.com/holdfastdev/holdfast/store/postgres/internal/feed"
	"github.com/holdfastdev/holdfast/store/postgres/internal/joblog"
	"github.com/holdfastdev/holdfast/store/postgres/internal/limits"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/move"
	"github.com/holdfastdev/holdfast/store/postgres/internal/namespaces"
	"github.com/holdfastdev/holdfast/store/postgres/internal/operate"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/read"
	"github.com/holdfastdev/holdfast/store/postgres/internal/schedules"
	"github.com/holdfastdev/holdfast/store/postgres/internal/schema"
	"github.com/holdfastdev/holdfast/store/postgres/internal/updates"
	"github.com/holdfastdev/holdfast/store/postgres/internal/write"
)

// connectTimeout bounds a connection attempt where the URL does not say.
const connectTimeout = 10 * time.Second

var (
	_ store.Source = Config{}
	_ store.Resets = Config{}
)

var (
	_ store.Store  = (*Store)(nil)
	_ store.Copies = (*Store)(nil)
)

// Open implements store.Source. It fails with ErrUnavailable if the server cannot be reached,
// ErrReadOnly if it is a standby whose schema is to be brought up to date, ErrInvalid if the server
// refuses the user or the database is not there, and ErrSchema if the schema does not fit.
func (c Config) Open(ctx context.Context) (store.Store, error) {
	s, err := c.open(ctx)
	if err != nil {
		return nil, pg.Classify(ctx, "", err)
	}
	return s, nil
}

func (c Config) open(ctx context.Context) (*Store, error) {
	s, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.ready(ctx, c.NoMigrate); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// ready brings the schema up to date, or checks that it is, and makes the partitions of the days to
// come.
func (s *Store) ready(ctx context.Context, noMigrate bool) error {
	if err := s.db.CheckServer(ctx); err != nil {
		return err
	}
	if noMigrate {
		found, err := s.tables.Schema(ctx)
		if err != nil {
			return err
		}
		if err := found.Check(); err != nil {
			return err
		}
	} else if _, err := s.tables.Migrate(ctx); err != nil {
		return err
	}
	if err := s.db.MeasureClock(ctx); err != nil {
		return err
	}
	// Without them jobs go to the default partition, which works: on a standby, or with few rights,
	// reading still does.
	if err := s.tables.ExtendPartitions(ctx); err != nil && pg.IsConnection(err) {
		return err
	}
	return nil
}

// connect returns a store on a pool, without a look at the schema.
func (c Config) connect(ctx context.Context) (s *Store, err error) {
	c, err = c.withDefaults()
	if err != nil {
		return nil, err
	}
	defer func() {
		if s != nil {
			s.tables.Later = c.later
		}
	}()
	options := pg.Options{SchemaName: c.SchemaName, NoSession: c.NoSession, Clock: c.Clock}
	switch {
	case c.Pool != nil:
		return newStore(pg.OnPool(c.Pool, options), false), nil
	case c.DB != nil:
		return newStore(pg.OnSQL(c.DB, options), false), nil
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
	db, err := pg.Dial(ctx, config, options)
	if err != nil {
		return nil, err
	}
	return newStore(db, true), nil
}

// newStore puts the storeys on each other.
func newStore(db *pg.DB, ownPool bool) *Store {
	s := &Store{ownPool: ownPool, db: db, local: local.New(db), tables: &schema.Tables{DB: db}}
	s.read = &read.Store{Store: s.local}
	s.claims = &claims.Store{Store: s.local}
	s.write = &write.Store{Store: s.local}
	s.updates = &updates.Store{Store: s.local}
	s.logs, s.facts = &joblog.Store{Store: s.local}, &facts.Store{Store: s.local}
	s.schedules = &schedules.Store{Store: s.local}
	s.limits = &limits.Store{Store: s.local}
	s.feed = &feed.Store{Store: s.local}
	s.batches = &batches.Store{Store: s.local}
	s.classes, s.searched = &classes.Store{Store: s.local}, &attributes.Store{Store: s.local}
	s.describes = &descriptors.Store{Store: s.local}
	s.spaces, s.admits = &namespaces.Store{Store: s.local, Jobs: s.read.List}, &apikeys.Store{Store: s.local}
	s.audits = &audits.Store{Store: s.local}
	s.sends = &endpoints.Store{Store: s.local}
	s.move = &move.Store{Store: s.local}
	s.operate = operate.New(s.write, s.read, s.tables)
	return s
}

// Traits implements store.Store.
func (s *Store) Traits() store.Traits {
	return store.Traits{Name: storeName, Concurrent: true, Wakeups: s.local.Wakeups.Load(), MaxBatch: 1000}
}

// Close implements store.Store. A pool of the caller's stays open.
func (s *Store) Close() error {
	s.close.Do(func() {
		s.local.Close()
		s.db.Close(s.ownPool)
	})
	return nil
}

// Migrations implements store.Source.
func (c Config) Migrations() []store.Migration {
	if c.SchemaName == "" {
		c.SchemaName = "holdfast"
	}
	return schema.MigrationsIn(c.SchemaName, c.later)
}

// Migrate implements store.Source.
func (c Config) Migrate(ctx context.Context) (store.Schema, error) {
	return c.withStore(ctx, "migrate", (*schema.Tables).Migrate)
}

// Reset implements store.Resets. The database schema stays, with whatever else is in it. Rights
// that were granted on the tables are gone with them.
func (c Config) Reset(ctx context.Context) (store.Schema, error) {
	return c.withStore(ctx, "reset", (*schema.Tables).Reset)
}

// Schema implements store.Source.
func (c Config) Schema(ctx context.Context) (store.Schema, error) {
	return c.withStore(ctx, "read the schema of", (*schema.Tables).Schema)
}

func (c Config) withStore(
	ctx context.Context, operation string, f func(*schema.Tables, context.Context) (store.Schema, error),
) (store.Schema, error) {
	s, err := c.connect(ctx)
	if err != nil {
		return store.Schema{}, pg.Classify(ctx, operation+" "+c.String(), err)
	}
	defer func() { _ = s.Close() }() // never fails
	found, err := f(s.tables, ctx)
	return found, pg.Classify(ctx, operation+" "+c.String(), err)
}

// Drop removes the schema with all jobs and everything else in it. It is for schemas that were made
// to try something out. No store may have it open.
func (c Config) Drop(ctx context.Context) error {
	s, err := c.connect(ctx)
	if err == nil {
		err = s.db.Conns.With(ctx, func(conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, s.db.Text("schema_drop"))
			return err
		})
		_ = s.Close() // never fails
	}
	return pg.Classify(ctx, "drop "+c.String(), err)
}
