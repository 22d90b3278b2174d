package ready_test

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/store/postgres"
)

func TestMain(m *testing.M) {
	os.Exit(pgtest.Main(m))
}

// TestACopyIsADatabaseOfItsOwn: it is what a program would have made, but for its identity.
func TestACopyIsADatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	made := pgtest.Shared(t).Database(t)
	if _, err := postgres.URL(made).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := look(t, made)
	seen := map[string]bool{want.id: true}
	for range 3 {
		got := look(t, ready.Database(t))
		if got.schema != want.schema {
			t.Errorf("its tables are\n%s\nwant\n%s", got.schema, want.schema)
		}
		if len(got.id) != len(want.id) || seen[got.id] {
			t.Errorf("the identity of the copy is %q, seen so far: %v", got.id, seen)
		}
		seen[got.id] = true
	}
}

type looked struct{ id, schema string }

func look(t *testing.T, url string) (found looked) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for query, into := range map[string]*string{
		"SELECT value FROM holdfast.meta WHERE name = 'database_id'": &found.id,
		`SELECT string_agg(concat_ws(' ', c.relname, c.relkind, c.reloptions, a.attname, format_type(a.atttypid, a.atttypmod),
			pg_get_expr(d.adbin, d.adrelid), CASE WHEN c.relkind = 'i' THEN pg_get_indexdef(c.oid) END), E'\n' ORDER BY c.relname, a.attnum)
			FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
			LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
			WHERE c.relnamespace = 'holdfast'::regnamespace`: &found.schema,
	} {
		if err := conn.QueryRow(t.Context(), query).Scan(into); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	return found
}
