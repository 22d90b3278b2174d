package layers_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	quoted = regexp.MustCompile("`([^`]+)`")
	walked = regexp.MustCompile("^\\| `([^`]+\\.go)` \\|([^|]*)\\|([^|]*)\\|$")
)

// TestWalks checks the walks through the code in docs/architecture.md: the functions are in the
// files that are named, and the statements of SQL in those of its package.
func TestWalks(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, walks, found := strings.Cut(string(page), "## Three walks\n")
	if walks, _, _ = strings.Cut(walks, "\n## "); !found {
		t.Fatal("there are no walks")
	}
	lines := 0
	for line := range strings.Lines(walks) {
		row := walked.FindStringSubmatch(strings.TrimSpace(line))
		if row == nil {
			continue
		}
		lines++
		source, err := os.ReadFile(filepath.Join("../..", row[1]))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, name := range quoted.FindAllStringSubmatch(row[2], -1) {
			if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + name[1] + `[(\[]`).Match(source) {
				t.Errorf("%s has no function %s", row[1], name[1])
			}
		}
		for _, name := range quoted.FindAllStringSubmatch(row[3], -1) {
			if isStatement(row[1], name[1]) || strings.Contains(string(source), name[1]) || strings.Contains(name[1], ".") {
				continue
			}
			t.Errorf("%s has no %s, nor is it a statement", row[1], name[1])
		}
	}
	if lines < 25 {
		t.Errorf("%d lines are walks", lines)
	}
}

// isStatement reports whether a store, whose file is given, has a statement of SQL of that name.
func isStatement(file, name string) bool {
	for _, of := range []string{"store/sqlite/internal/db", "store/postgres/internal/pg"} {
		if !strings.HasPrefix(file, filepath.Dir(of)) {
			continue
		}
		texts, err := filepath.Glob(filepath.Join("../..", of, "sql", "*.sql"))
		if err != nil {
			return false
		}
		for _, text := range texts {
			data, err := os.ReadFile(text)
			if err == nil && strings.Contains(string(data), "-- name: "+name+"\n") {
				return true
			}
		}
	}
	return false
}
