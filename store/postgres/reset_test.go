package postgres_test

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// oids lists the tables, indexes, sequences and functions of a schema.
func oids(t *testing.T, conn *pgx.Conn, schema string) []string {
	t.Helper()
	return value[[]string](t, conn, `SELECT array_agg(name) FROM (
		SELECT oid || ' ' || relname FROM pg_class WHERE relnamespace = to_regnamespace($1)
		UNION ALL SELECT oid || ' ' || proname FROM pg_proc WHERE pronamespace = to_regnamespace($1)) AS all_of_it (name)`, schema)
}

// filled returns a source whose schema has jobs, and something of the user's beside each sort of
// thing of ours.
func filled(t *testing.T, conn func(url string) *pgx.Conn) (postgres.Config, []string) {
	t.Helper()
	config := fresh(t)
	s := open(t, config)
	enqueue(t, s, newJob(), newJob())
	leave(t, s, join(t, s))
	c, schema := conn(config.URL), config.SchemaName
	before := oids(t, c, schema)
	for _, sql := range []string{
		"CREATE TABLE " + schema + ".mine (id int PRIMARY KEY)", "INSERT INTO " + schema + ".mine VALUES (7)",
		"CREATE TABLE " + schema + ".job_mine (id int)",
		"CREATE FUNCTION " + schema + ".enqueue(int) RETURNS int LANGUAGE sql AS 'SELECT 1'",
	} {
		if _, err := c.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	return config, before
}

func leave(t *testing.T, s store.Store, node int64) {
	t.Helper()
	if _, err := s.Leave(t.Context(), node); err != nil {
		t.Fatal(err)
	}
}

func reset(t *testing.T, config postgres.Config) {
	t.Helper()
	found, err := config.Reset(t.Context())
	if err != nil || found.Version != found.Latest || found.Version == 0 {
		t.Fatalf("%+v, %v", found, err)
	}
}

// TestReset: nothing of what was there is left but what is the user's, and the database works; also
// the second time.
func TestReset(t *testing.T) {
	t.Parallel()
	var conn *pgx.Conn
	config, before := filled(t, func(url string) *pgx.Conn { conn = connect(t, url); return conn })
	for range 2 {
		reset(t, config)
		now := oids(t, conn, config.SchemaName)
		for _, old := range before {
			if slices.Contains(now, old) {
				t.Errorf("%s is still there", old)
			}
		}
		if n := value[int](t, conn, "SELECT id + "+config.SchemaName+".enqueue(1) FROM "+config.SchemaName+".mine"); n != 8 {
			t.Errorf("the user's table has %d", n)
		}
		before = slices.DeleteFunc(now, func(name string) bool { return slices.Contains(before, name) })
		before = slices.DeleteFunc(before, func(name string) bool {
			return value[bool](t, conn, "SELECT split_part($1, ' ', 2) LIKE '%mine%' OR split_part($1, ' ', 1)::oid = to_regprocedure($2)",
				name, config.SchemaName+".enqueue(int)")
		})
		s := open(t, config)
		if page, err := s.List(t.Context(), store.ListParams{Limit: 10}); err != nil || len(page.Jobs) != 0 {
			t.Errorf("%d jobs, %v", len(page.Jobs), err)
		}
		enqueue(t, s, newJob())
		node := join(t, s)
		if leave(t, s, node); node != 1 {
			t.Errorf("the first node is %d", node)
		}
	}
}

// wantAll fails if something of what was there is not there any more.
func wantAll(t *testing.T, conn *pgx.Conn, config postgres.Config, before []string) {
	t.Helper()
	now := oids(t, conn, config.SchemaName)
	for _, old := range before {
		if !slices.Contains(now, old) {
			t.Errorf("%s is gone", old)
		}
	}
	if n := value[int](t, conn, "SELECT count(*) FROM "+config.SchemaName+".job"); n != 2 {
		t.Errorf("%d jobs are left", n)
	}
}

// TestResetIsRefused: while a node lives, while something of the user's depends on a table, without
// a schema, and with one of a newer program. Then everything is as it was.
func TestResetIsRefused(t *testing.T) {
	t.Parallel()
	var conn *pgx.Conn
	config, before := filled(t, func(url string) *pgx.Conn { conn = connect(t, url); return conn })
	schema := config.SchemaName
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	refused := func(what string, class error) {
		t.Helper()
		_, err := config.Reset(t.Context())
		wantErr(t, what, err, class)
		wantAll(t, conn, config, before)
	}
	s := open(t, config)
	node := join(t, s)
	refused("a node lives", store.ErrConflict)
	leave(t, s, node)
	exec("CREATE VIEW " + schema + ".my_jobs AS SELECT id FROM " + schema + ".job")
	refused("a view of the user's", store.ErrConflict)
	exec("DROP VIEW " + schema + ".my_jobs")
	exec("INSERT INTO " + schema + ".migration (version, name, applied_at) VALUES (999, 'later', 0)")
	refused("a newer schema", store.ErrSchema)
	exec("DELETE FROM " + schema + ".migration WHERE version = 999")
	reset(t, config)

	config.SchemaName += "_none"
	_, err := config.Reset(t.Context())
	wantErr(t, "no schema", err, store.ErrSchema)
}
