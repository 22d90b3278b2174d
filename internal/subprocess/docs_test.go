//go:build unix

package subprocess

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
)

// TestProgramOfTheDocs runs the program of docs/subprocesses.md.
func TestProgramOfTheDocs(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("NOT TESTED, because there is no python3")
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "subprocesses.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(page), "```python\n")
	program, _, ok := strings.Cut(program, "```\n")
	if !ok {
		t.Fatal("the page has no program")
	}
	file := filepath.Join(t.TempDir(), "handle.py")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBed(t, func(c *Config) { c.Command = []string{python, file} })
	jobs := holdfast.NewKind[any, json.RawMessage](kind.Name(), holdfast.MaxAttempts(1))
	for range 2 {
		job, err := jobs.Enqueue(t.Context(), b.hf, map[string]string{"name": "Ada"})
		if err != nil {
			t.Fatal(err)
		}
		if result, err := job.Wait(t.Context()); err != nil || string(result) != `{"hello": "Ada"}` && string(result) != `{"hello":"Ada"}` {
			t.Errorf("%s, %v", result, err)
		}
		job, err = jobs.Enqueue(t.Context(), b.hf, map[string]string{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := job.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "KeyError('name')") {
			t.Error(err)
		}
	}
}
