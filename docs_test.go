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

// TestLinksOfTheDocs: the files and the headings that the pages link to are there.
func TestLinksOfTheDocs(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	link, looked := regexp.MustCompile(`\]\(([^)\s#]*)(?:#([^)\s]+))?\)`), 0
	for _, page := range append(pages, "README.md", "CONTRIBUTING.md", "examples/README.md") {
		for _, found := range link.FindAllStringSubmatch(prose(t, page), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			looked++
			target := page
			if found[1] != "" {
				target = filepath.Join(filepath.Dir(page), found[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", page, err)
			} else if found[2] != "" && !headings(t, target)[found[2]] {
				t.Errorf("%s: %s has no heading #%s", page, target, found[2])
			}
		}
	}
	if looked < 50 {
		t.Errorf("%d links found", looked)
	}
}

// prose returns a page without its code.
func prose(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile("(?s)```.*?```|`[^`]*`").ReplaceAllString(string(text), "")
}

// headings returns the names by which the headings of a page are linked to.
func headings(t *testing.T, page string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	names, link, mark := map[string]bool{}, regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`), regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	for line := range strings.Lines(string(text)) {
		if level, title, ok := strings.Cut(line, " "); ok && strings.Trim(level, "#") == "" && level != "" {
			title = mark.ReplaceAllString(link.ReplaceAllString(strings.TrimSpace(title), "$1"), "")
			names[strings.ReplaceAll(strings.ToLower(title), " ", "-")] = true
		}
	}
	return names
}
