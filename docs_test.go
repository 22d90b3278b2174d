package holdfast_test

import (
	"encoding/json"
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

// TestGoInTheDocsCompiles vets each Go program in README.md and docs/.
func TestGoInTheDocsCompiles(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```go\n(package .*?)```")
	programs := 0
	for _, page := range append(pages, "README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range block.FindAllSubmatch(text, -1) {
			programs++
			vet(t, page, found[1])
		}
	}
	if programs == 0 {
		t.Error("no program found: the README should have one")
	}
}

// vet compiles a program as a package of this module that exists only in an overlay.
func vet(t *testing.T, page string, program []byte) {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, program, 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(root, "internal", "docsnippet", "main.go"): source},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", file, "-o", filepath.Join(dir, "out"), "./internal/docsnippet")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("a program in %s does not compile: %v\n%s", page, err, out)
	}
}
