package dsn_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// tableChange is a statement that makes, drops or renames a table.
var tableChange = regexp.MustCompile(`(?m)^(?:CREATE TABLE|DROP TABLE|ALTER TABLE) (\S+?)(?: RENAME TO (\S+?))?[;\s]`)

// tablesOf are the tables that migrations leave, without what stands before each name.
func tablesOf(migrations []store.Migration, before string) map[string]bool {
	tables := map[string]bool{}
	for _, m := range migrations {
		for _, found := range tableChange.FindAllStringSubmatch(m.SQL, -1) {
			name := strings.TrimPrefix(found[1], before)
			switch {
			case strings.HasPrefix(found[0], "CREATE"):
				tables[name] = true
			case strings.HasPrefix(found[0], "DROP"):
				delete(tables, name)
			case found[2] != "":
				delete(tables, name)
				tables[strings.TrimPrefix(found[2], before)] = true
			}
		}
	}
	return tables
}

// TestEveryTableHasARetention: docs/retention.md says of each table for how long its rows are kept,
// and of no other.
func TestEveryTableHasARetention(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/retention.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(text), "## What is kept of everything")
	if !found {
		t.Fatal("the page has no list of tables")
	}
	said := map[string]bool{}
	for line := range strings.Lines(list) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.TrimSpace(cells[3]) == "" {
			continue
		}
		for _, name := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(cells[1], -1) {
			if said[name[1]] {
				t.Errorf("%s is there twice", name[1])
			}
			said[name[1]] = true
		}
	}
	tables := tablesOf(sqlite.File("f").Migrations(), "holdfast_")
	maps.Copy(tables, tablesOf(postgres.URL("postgres://").Migrations(), "\"holdfast\"."))
	if len(tables) < 40 {
		t.Fatalf("found only %v", slices.Sorted(maps.Keys(tables)))
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		if !said[name] {
			t.Errorf("table %s: docs/retention.md does not say for how long its rows are kept", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(said)) {
		if !tables[name] {
			t.Errorf("docs/retention.md has a table %s, which there is not", name)
		}
	}
}
