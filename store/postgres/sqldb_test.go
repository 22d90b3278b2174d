package postgres_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// openSQL opens a pool of database/sql that may make so many connections.
func openSQL(t *testing.T, url string, most int) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// TestCallersSQLPool: a pool of database/sql of the caller's is neither drained, nor changed, nor
// closed, and a node beats although the only connection is in use.
func TestCallersSQLPool(t *testing.T) {
	t.Parallel()
	source := used(t, nil)
	db := openSQL(t, source.URL, 1)
	s := open(t, postgres.Config{DB: db, SchemaName: source.SchemaName})
	w := watch(t, s)
	eventually(t, "wake-ups beside the pool", func() bool { return s.Traits().Wakeups })
	node := join(t, s)

	// The only connection is in the caller's transaction, and the lane has to be made.
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.EnqueueTx(t.Context(), postgres.SQLTx(tx), []*store.Enqueue{newJob()}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Beat(t.Context(), store.BeatParams{Node: node, LeaderTTL: time.Minute}); err != nil {
		t.Fatalf("a beat while the pool is in use: %v", err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a wake-up", func() bool { return w.count(ofQueue("mail")) == 1 })
	if runs, err := s.Claim(t.Context(), demand(node, 1, 10)); err != nil || len(runs) != 1 {
		t.Fatalf("claimed %d, %v", len(runs), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for setting, want := range map[string]string{"enable_seqscan": "on", "plan_cache_mode": "auto", "lock_timeout": "0"} {
		var got string
		if err := db.QueryRowContext(t.Context(), "SELECT current_setting($1)", setting).Scan(&got); err != nil || got != want {
			t.Fatalf("%s of the caller's connection is %q (%v)", setting, got, err)
		}
	}
	wantErr(t, "Apply after Close", store.ApplyEach(t.Context(), s, &store.Batch{Enqueues: []*store.Enqueue{newJob()}}), store.ErrClosed)
}

// TestIsolationOfASQLPool: the transactions of the caller's pool are at another level, and those of
// the store are not.
func TestIsolationOfASQLPool(t *testing.T) {
	t.Parallel()
	source := fresh(t)
	config, err := pgx.ParseConfig(source.URL)
	if err != nil {
		t.Fatal(err)
	}
	config.RuntimeParams["default_transaction_isolation"] = "serializable"
	made := 0
	db := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(context.Context, *pgx.Conn) error { made++; return nil }))
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	s := open(t, postgres.Config{DB: db, SchemaName: source.SchemaName})
	life(t, s)
	var level string
	if err := db.QueryRowContext(t.Context(), "SHOW transaction_isolation").Scan(&level); err != nil || level != "serializable" {
		t.Errorf("the caller's transactions are at %s (%v)", level, err)
	}
	if made != 1 {
		t.Errorf("%d connections were made: what is refused must leave them usable", made)
	}
}

// TestSQLPoolDropsBrokenConnections: a connection that ended is not used again, and one whose
// caller has given up in the middle of a statement neither.
func TestSQLPoolDropsBrokenConnections(t *testing.T) {
	t.Parallel()
	source := used(t, nil)
	db := openSQL(t, source.URL, 1)
	s := open(t, postgres.Config{DB: db, SchemaName: source.SchemaName})
	enqueue(t, s, newJob())
	other := connect(t, source.URL)
	var pid int
	if err := db.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	_ = value[bool](t, other, "SELECT pg_terminate_backend($1)", pid)
	eventually(t, "another connection", func() bool {
		err := store.ApplyEach(t.Context(), s, &store.Batch{Enqueues: []*store.Enqueue{newJob()}})
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Fatal(err)
		}
		return err == nil
	})

	// The statement waits for a lock, which outlasts its caller and the grace after it.
	lock, err := other.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Exec(t.Context(), "LOCK TABLE "+source.SchemaName+".job"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() { _, err := s.Get(ctx, "", newJob().Job.ID); gone <- err }()
	eventually(t, "the look to wait", func() bool { return db.Stats().InUse == 1 })
	cancel()
	wantErr(t, "Get", <-gone, context.Canceled)
	if err := lock.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	enqueue(t, s, newJob())
}

// wrapped is a driver around pgx's. Its connections say so, as those of packages that trace do, or
// keep it to themselves.
type wrapped struct {
	driver.Connector

	says bool
}

func (w wrapped) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := w.Connector.Connect(ctx)
	switch {
	case err != nil:
		return nil, err
	case w.says:
		return openConn{conn}, nil
	}
	return closedConn{conn}, nil
}

type closedConn struct{ driver.Conn }

type openConn struct{ driver.Conn }

func (c openConn) Raw() driver.Conn { return c.Conn }

func TestDriversOfDatabaseSQL(t *testing.T) {
	t.Parallel()
	source := used(t, nil)
	config, err := pgx.ParseConfig(source.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, says := range []bool{true, false} {
		db := sql.OpenDB(wrapped{stdlib.GetConnector(*config), says})
		t.Cleanup(func() { _ = db.Close() })
		s, err := postgres.Config{DB: db, SchemaName: source.SchemaName}.Open(t.Context())
		if says {
			if err != nil {
				t.Fatal(err)
			}
			life(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		wantErr(t, "Open with connections of another driver", err, store.ErrInvalid)
		if !strings.Contains(err.Error(), "closedConn") || !strings.Contains(err.Error(), "pgx/v5/stdlib") {
			t.Errorf("it does not say what to do: %v", err)
		}
	}
}

// TestSQLPoolAsASource: what can be told of one without a look at it.
func TestSQLPoolAsASource(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("pgx", "postgres://u:secret@h/d")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	both := postgres.Config{DB: db, URL: "postgres://h/d"}
	wantErr(t, "two sources", both.Validate(), store.ErrInvalid)
	wantErr(t, "none", postgres.DB(nil).Validate(), store.ErrInvalid)
	if err := postgres.DB(db).Validate(); err != nil {
		t.Error(err)
	}
	if got := (postgres.Config{DB: db, SchemaName: "a b"}).String(); got != "postgres:(*sql.DB)?schema=a+b" {
		t.Error(got)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = postgres.DB(db).Open(t.Context())
	wantErr(t, "Open of a closed pool", err, store.ErrClosed)
}

// TestBesideAPoolWithHooks: connections beside the pool are made as its own are, such as with a
// password that the pool fetches for each, and hear for themselves.
func TestBesideAPoolWithHooks(t *testing.T) {
	t.Parallel()
	source := used(t, nil)
	config, err := pgxpool.ParseConfig(source.URL)
	if err != nil {
		t.Fatal(err)
	}
	user := config.ConnConfig.User
	config.ConnConfig.User = "nobody"
	config.ConnConfig.OnNotification = func(*pgconn.PgConn, *pgconn.Notification) { t.Error("the caller heard a notification") }
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error { c.User = user; return nil }
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	db := stdlib.OpenDB(*config.ConnConfig, stdlib.OptionBeforeConnect(config.BeforeConnect))
	t.Cleanup(func() { _ = db.Close() })
	for _, c := range []postgres.Config{{Pool: pool}, {DB: db}} {
		c.SchemaName = source.SchemaName
		s := open(t, c)
		watch(t, s)
		eventually(t, "wake-ups", func() bool { return s.Traits().Wakeups })
	}
}
