package holdfast_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestStateTableOfTheDocs compares docs/jobs.md with the table in the code.
func TestStateTableOfTheDocs(t *testing.T) {
	text, err := os.ReadFile("docs/jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, tr := range store.Transitions {
		from, counted := "—", "no"
		if tr.From != 0 {
			from = tr.From.String()
		}
		if tr.Counted {
			counted = "yes"
		}
		row := "| " + strings.Join([]string{from, tr.To.String(), tr.When, counted}, " | ") + " |\n"
		if !strings.Contains(string(text), row) {
			t.Errorf("docs/jobs.md lacks the row %s", row)
		}
		rows++
	}
	table := regexp.MustCompile(`(?s)## States\n(.*?)\n## `).FindString(string(text))
	if got := strings.Count(table, "\n| ") - 1; got != rows {
		t.Errorf("docs/jobs.md lists %d transitions, the code has %d", got, rows)
	}
}

// TestGoInTheDocsCompiles compiles each Go program in README.md and docs/.
func TestGoInTheDocsCompiles(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```go\n(package .*?)```")
	dir := t.TempDir()
	programs := map[string]string{} // where each is, as packages of this module that exist only in an overlay
	for _, page := range append(pages, "README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, found := range block.FindAllSubmatch(text, -1) {
			name := fmt.Sprintf("%s_%d", strings.TrimSuffix(filepath.Base(page), ".md"), i+1)
			source := filepath.Join(dir, name+".go")
			if err := os.WriteFile(source, found[1], 0o600); err != nil {
				t.Fatal(err)
			}
			programs[filepath.Join("internal", "docsnippet", name, "main.go")] = source
		}
	}
	if len(programs) == 0 {
		t.Fatal("no program found: the README should have one")
	}
	compile(t, dir, programs)
}

// compile compiles programs, all at once.
func compile(t *testing.T, dir string, programs map[string]string) {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	args := []string{"list", "-export", "-f", "", "-overlay", filepath.Join(dir, "overlay.json")} // compiles, and does not link
	for path, source := range programs {
		replace[filepath.Join(root, path)] = source
		args = append(args, "./"+filepath.ToSlash(filepath.Dir(path)))
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Errorf("a program in the docs does not compile: %v\n%s", err, out)
	}
}
