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
)

// shared is the cluster of the test binary.
var shared struct {
	once    sync.Once
	cluster *Cluster
	err     error
	always  bool
}

// Always makes Shared serve short tests (go test -short) too. A package calls it before Main if its
// tests are about PostgreSQL.
func Always() { shared.always = true }

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

// Shared returns the server that all tests of the binary use. It skips short tests, which run on
// SQLite, except in packages that call Always.
func Shared(tb testing.TB) *Cluster {
	tb.Helper()
	if _, bench := tb.(*testing.B); testing.Short() && !shared.always && !bench {
		tb.Skip("short tests of this package run on SQLite alone")
	}
	shared.once.Do(func() { shared.cluster, shared.err = find() })
	need(tb, shared.err)
	return shared.cluster
}

// find returns the configured server, or else starts one.
func find() (*Cluster, error) {
	if base := os.Getenv(envDatabase); base != "" {
		return external(base)
	}
	return create()
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
	case os.Getenv(envBin) != "" || !errors.Is(err, errNotFound) && !errors.Is(err, errNotUnix):
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
	conn, err := pgx.Connect(ctx, c.URL(""))
	if err != nil {
		tb.Errorf("%s: %v", sql, err)
		return
	}
	if _, err := conn.Exec(ctx, sql); err != nil {
		tb.Errorf("%s: %v", sql, err)
	}
	if err := conn.Close(ctx); err != nil {
		tb.Logf("%s: %v", sql, err)
	}
}

func random() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
