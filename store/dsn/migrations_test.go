package dsn_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/wire"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/dsn"
)

func migrationsOf(t *testing.T, database string) []store.Migration {
	t.Helper()
	source, err := dsn.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	return source.Migrations()
}

// TestMigrationsOfBoth: both databases have the same migrations, by number and name, and each
// records itself, so that a person may run it as well.
func TestMigrationsOfBoth(t *testing.T) {
	t.Parallel()
	ours, theirs := migrationsOf(t, "sqlite:x.db"), migrationsOf(t, "postgres://localhost/x")
	if len(ours) != len(theirs) || len(ours) == 0 {
		t.Fatalf("SQLite has %d migrations, PostgreSQL %d: both have the same ones", len(ours), len(theirs))
	}
	for i := range ours {
		if ours[i].Version != theirs[i].Version || ours[i].Name != theirs[i].Name {
			t.Errorf("migration %d is %s for SQLite, and %s for PostgreSQL", ours[i].Version, ours[i].Name, theirs[i].Name)
		}
		for _, m := range []struct{ sql, table string }{{ours[i].SQL, "INTO holdfast_migration"}, {theirs[i].SQL, `INTO "holdfast".migration`}} {
			_, insert, found := strings.Cut(m.sql, m.table)
			if want := fmt.Sprintf("(%d, '%s', ", ours[i].Version, ours[i].Name); !found || !strings.Contains(insert, want) {
				t.Errorf("migration %d does not record itself as %q in %s", ours[i].Version, want, m.table)
			}
		}
	}
}

// serves finds the version that a migration says that it serves.
var serves = regexp.MustCompile(`(?s)serves\)\s+VALUES \(\d+, '\w+', .*, (\d+)\);\s*$`)

// TestMigrationsSayWhomTheyServe: each records the oldest version whose programs it serves, the
// same on both databases. The first one serves its own, and another one may.
func TestMigrationsSayWhomTheyServe(t *testing.T) {
	t.Parallel()
	ours, theirs := migrationsOf(t, "sqlite:x.db"), migrationsOf(t, "postgres://localhost/x")
	for i, m := range ours {
		a, b := serves.FindStringSubmatch(m.SQL), serves.FindStringSubmatch(theirs[i].SQL)
		if a == nil || b == nil || a[1] != b[1] {
			t.Errorf("migration %d says that it serves %v on SQLite, and %v on PostgreSQL", m.Version, a, b)
			continue
		}
		if n, err := strconv.Atoi(a[1]); err != nil || n < 1 || n > m.Version {
			t.Errorf("migration %d says that it serves version %s, which there is not before it; error %v", m.Version, a[1], err)
		}
	}
}

var (
	creates = regexp.MustCompile(`(?mi)^[ \t]*CREATE .*$`)
	// found is what a reset finds in the text of a migration, or what goes with it. A trigger goes
	// with its table; on PostgreSQL its function goes before that, and fails if the trigger is not
	// named in reset_triggers.
	found = regexp.MustCompile(`^CREATE (TABLE (holdfast_|"holdfast"\.)\w+|FUNCTION "holdfast"\.\w+|` +
		`(UNIQUE )?INDEX \w+ ON |TRIGGER \w+ (AFTER|BEFORE) (INSERT|UPDATE OF \w+) ON )`)
)

// TestResetsFindWhatMigrationsMake: a reset drops the tables and functions that it reads in the
// migrations, so these are made in the one way that it knows. What is made IF NOT EXISTS, or
// replaced, would stay.
func TestResetsFindWhatMigrationsMake(t *testing.T) {
	t.Parallel()
	for _, database := range []string{"sqlite:x.db", "postgres://localhost/x"} {
		made := 0
		for _, m := range migrationsOf(t, database) {
			for _, line := range creates.FindAllString(m.SQL, -1) {
				made++
				if !found.MatchString(line) {
					t.Errorf("%s, migration %d: no reset finds what this makes: %s", database, m.Version, line)
				}
			}
		}
		if made < 50 {
			t.Errorf("%s: %d statements were found", database, made)
		}
	}
}

// TestSchemaOfServers: what clients and servers tell each other of their schema is what the
// migrations say.
func TestSchemaOfServers(t *testing.T) {
	t.Parallel()
	all := migrationsOf(t, "sqlite:x.db")
	if last := all[len(all)-1].Version; wire.Schema != last {
		t.Errorf("wire.Schema is %d, and the last migration %d", wire.Schema, last)
	}
	// The oldest program that each later migration serves.
	oldest := all[len(all)-1].Version
	for i, most := len(all)-1, 0; i >= 0; i-- {
		said := serves.FindStringSubmatch(all[i].SQL)
		if said == nil {
			break // it serves nobody but its own
		}
		from, err := strconv.Atoi(said[1])
		if err != nil {
			t.Fatal(err)
		}
		if most = max(most, from); most > all[i].Version-1 {
			break
		}
		oldest = all[i].Version - 1
	}
	if wire.Serves != oldest {
		t.Errorf("wire.Serves is %d, and the oldest program that is served %d", wire.Serves, oldest)
	}
}
