package sqlitetest_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// TestACopyIsADatabaseOfItsOwn: it is what a program would have made, but for its identity.
func TestACopyIsADatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	made := filepath.Join(t.TempDir(), "made.db")
	if _, err := sqlite.File(made).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := look(t, made)
	seen := map[string]bool{want.id: true}
	for range 3 {
		got := look(t, sqlitetest.File(t))
		if got.sound != "ok" || got.schema != want.schema {
			t.Errorf("the copy is %s, its tables are\n%s\nwant\n%s", got.sound, got.schema, want.schema)
		}
		if len(got.id) != len(want.id) || seen[got.id] {
			t.Errorf("the identity of the copy is %q, seen so far: %v", got.id, seen)
		}
		seen[got.id] = true
	}
}

type looked struct{ id, schema, sound string }

func look(t *testing.T, path string) (found looked) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for query, into := range map[string]*string{
		"SELECT value FROM holdfast_meta WHERE name = 'database_id'":                                &found.id,
		"SELECT group_concat(sql, char(10)) FROM (SELECT sql FROM sqlite_schema ORDER BY rootpage)": &found.schema,
		"PRAGMA integrity_check": &found.sound,
	} {
		if err := db.QueryRowContext(t.Context(), query).Scan(into); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	return found
}
