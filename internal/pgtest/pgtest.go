package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Environment variables.
const (
	envDatabase = "HOLDFAST_TEST_DATABASE"
	envBin      = "HOLDFAST_TEST_POSTGRES_BIN"
	envCluster  = "HOLDFAST_TEST_CLUSTER"
)

// shared is the cluster of the test binary.
var shared struct {
	once    sync.Once
	cluster *Cluster
	err     error
}

// Main runs the tests of a package and then removes the shared cluster, if one was started. It
// returns the exit code.
func Main(m *testing.M) int {
	runMore()
	code := m.Run()
	if shared.cluster != nil {
		shared.cluster.remove()
	}
	return code
}

// atOnce is the default of -test.parallel, regardless of the number of processors: tests wait for
// the server, for locks, and for each other.
const atOnce = "4"

func runMore() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", atOnce) // the flag exists and the number is valid
	}
}

// Shared returns the server that all tests of the binary use.
func Shared(tb testing.TB) *Cluster {
	tb.Helper()
	shared.once.Do(func() { shared.cluster, shared.err = find() })
	need(tb, shared.err)
	return shared.cluster
}

// InSoak skips a test that has run on SQLite, but in the soak. That the databases do the same is
// for the conformance suite to prove; what stands above a store runs on one of them for each
// commit.
func InSoak(tb testing.TB) {
	tb.Helper()
	if !soak {
		tb.Skip("on PostgreSQL it runs in the soak: go test -tags=soak")
	}
}

// find returns the configured server, or else starts one.
func find() (*Cluster, error) {
	if base := os.Getenv(envDatabase); base != "" {
		return external(base)
	}
	if dir := os.Getenv(envCluster); dir != "" {
		return borrow(dir)
	}
	return create()
}

// Serve starts a cluster in a new directory for the test binaries that this process starts, and
// tells them by a variable of the environment. stop removes it.
func Serve(dir string) (stop func(), err error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return func() {}, err
	}
	c, err := createIn(dir)
	if err != nil {
		return func() {}, err
	}
	if err := os.Setenv(envCluster, dir); err != nil {
		c.remove()
		return func() {}, err
	}
	return c.remove, nil
}

// borrow returns the server that Serve has started, with a database that is this binary's own.
func borrow(dir string) (*Cluster, error) {
	bin, err := findPrograms()
	if err != nil {
		return nil, err
	}
	c := &Cluster{lent: true, bin: bin, dir: dir, user: "postgres", database: "postgres"}
	own := "binary_" + random()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.do(ctx, "CREATE DATABASE "+own+" TEMPLATE template0"); err != nil {
		return nil, err
	}
	c.database, c.created = own, []string{own}
	return c, nil
}

// giveBack drops the databases that this binary has made on a server that others use.
func (c *Cluster) giveBack() {
	c.mu.Lock()
	created := c.created
	c.created = nil
	c.mu.Unlock()
	c.database = "postgres"
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for _, name := range created {
		if err := c.do(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			fmt.Fprintln(os.Stderr, "pgtest:", err)
		}
	}
}

// note notes that a database is to be dropped with the binary's others.
func (c *Cluster) note(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.created = append(c.created, name)
}

// Private starts a cluster for one test, which is removed after it. env, such as "LD_PRELOAD=…", is
// added to the environment of its server.
func Private(tb testing.TB, env ...string) *Cluster {
	tb.Helper()
	c, err := create(env...)
	need(tb, err)
	tb.Cleanup(c.remove)
	return c
}

// need ends the test if there is no server. It skips the test only if no server is available and
// none was asked for; a server that was asked for, or exists, and does not work is a failure.
func need(tb testing.TB, err error) {
	tb.Helper()
	switch {
	case err == nil:
	case os.Getenv(envBin) != "" || !errors.Is(err, ErrNoPrograms) && !errors.Is(err, errNotUnix):
		tb.Fatalf("PostgreSQL does not work: %v", err)
	case os.Getenv("CI") != "":
		tb.Fatalf("no PostgreSQL to test with, and CI is set: %v", err)
	default:
		tb.Skipf("NOT TESTED, because there is no PostgreSQL: %v. Install its server, or set %s or %s.", err, envDatabase, envBin)
	}
}

// external is an existing server.
func external(base string) (*Cluster, error) {
	config, err := pgx.ParseConfig(base)
	if err != nil {
		return nil, err
	}
	c := &Cluster{base: base, database: config.Database}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return c, conn.Close(ctx)
}

// URL returns the URL of a database of the server; "" is the default one.
func (c *Cluster) URL(database string) string {
	if database == "" {
		database = c.database
	}
	if c.base == "" {
		return fmt.Sprintf("postgres://%s@/%s?%s", c.user, url.PathEscape(database), url.Values{"host": {c.dir}}.Encode())
	}
	u, err := url.Parse(c.base)
	if err != nil || u.Scheme == "" {
		return c.base + " dbname=" + database
	}
	u.Path = "/" + database
	return u.String()
}

// Schema returns the URL of the server and the name of a new schema for the test. The schema is
// dropped after the test.
func (c *Cluster) Schema(tb testing.TB) (url, schema string) {
	tb.Helper()
	schema = "test_" + random()
	if c.base != "" {
		tb.Cleanup(func() { c.exec(tb, "DROP SCHEMA IF EXISTS "+schema+" CASCADE") })
	}
	return c.URL(""), schema
}

// Database returns the URL of a new, empty database for the test.
func (c *Cluster) Database(tb testing.TB) string {
	tb.Helper()
	name := "test_" + random()
	c.exec(tb, "CREATE DATABASE "+name+" TEMPLATE template0")
	c.note(name)
	if c.base != "" { // or it goes with the cluster: to drop it takes longer than to create it
		tb.Cleanup(func() { c.exec(tb, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") })
	}
	return c.URL(name)
}

// Copy returns the URL of a new database for the test: a copy of one that fill has filled, which is
// done once for the server. What was created there outlives the test, so a server that is not ours,
// or is older than PostgreSQL 15 and so slow at it, has each new database filled.
func (c *Cluster) Copy(tb testing.TB, fill func(ctx context.Context, url string) error) string {
	tb.Helper()
	c.model.once.Do(func() {
		if c.base == "" && c.copies(tb) {
			c.model.name = "model_" + random()
			c.note(c.model.name)
			c.exec(tb, "CREATE DATABASE "+c.model.name+" TEMPLATE template0")
			c.model.err = fill(tb.Context(), c.URL(c.model.name))
		}
	})
	if c.model.err != nil {
		tb.Fatalf("fill the database that is copied: %v", c.model.err)
	}
	if c.model.name == "" {
		url := c.Database(tb)
		if err := fill(tb.Context(), url); err != nil {
			tb.Fatalf("fill a database: %v", err)
		}
		return url
	}
	name := "test_" + random()
	c.exec(tb, "CREATE DATABASE "+name+" TEMPLATE "+c.model.name+" STRATEGY file_copy")
	c.note(name)
	return c.URL(name)
}

// copies reports whether the server copies databases file by file if it is asked to.
func (c *Cluster) copies(tb testing.TB) bool {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), c.URL(""))
	if err != nil {
		return false
	}
	defer conn.Close(tb.Context())
	version := 0
	err = conn.QueryRow(tb.Context(), "SELECT current_setting('server_version_num')::int").Scan(&version)
	return err == nil && version >= 150000
}

// exec runs a statement in the default database.
func (c *Cluster) exec(tb testing.TB, sql string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.do(ctx, sql); err != nil {
		tb.Error(err)
	}
}

func (c *Cluster) do(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, c.URL(""))
	if err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	_, err = conn.Exec(ctx, sql)
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

func random() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
