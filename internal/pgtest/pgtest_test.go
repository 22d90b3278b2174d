package pgtest_test

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/internal/pgtest"
)

func TestMain(m *testing.M) {
	os.Exit(pgtest.Main(m))
}

func TestDatabasesAreApart(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Shared(t)
	for range 2 {
		query(t, cluster.Database(t), "CREATE TABLE mine (id int)")
	}
}

func TestStopAndStart(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Private(t)
	query(t, cluster.URL(""), "CREATE TABLE kept (id int)")
	cluster.Crash(t)
	if _, err := pgx.Connect(t.Context(), cluster.URL("")); err == nil {
		t.Fatal("a server that was ended answers")
	}
	cluster.Start(t)
	query(t, cluster.URL(""), "SELECT id FROM kept")
	cluster.Restart(t)
	query(t, cluster.URL(""), "SELECT id FROM kept")
}

func query(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}
