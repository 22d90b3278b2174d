package cli

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/archive"
	"github.com/holdfastdev/holdfast/store"
)

// TestArchive: archived jobs are printed, and found in files and directories, without a database.
func TestArchive(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	dir := t.TempDir()
	var ids []string
	for _, name := range []string{"b.jsonl.gz", "a.jsonl.gz"} {
		path := filepath.Join(dir, "2026", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		packed := gzip.NewWriter(file)
		for range 2 {
			id := uuid.Must(uuid.NewV7())
			ids = append(ids, id.String())
			line := archive.Job{Version: 1, Job: store.Record{Job: store.Job{ID: id, Kind: "send"}, State: store.Failed}}
			if err := json.NewEncoder(packed).Encode(line); err != nil { //nolint:musttag // records have a form of their own
				t.Fatal(err)
			}
		}
		if err := packed.Close(); err != nil {
			t.Fatal(err)
		}
		_ = file.Close()
	}
	if err := os.WriteFile(filepath.Join(dir, "2026", ".c.jsonl.gz"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := s.ok("archive", "cat", dir); strings.Count(out, "\n") != 4 || strings.Index(out, ids[2]) > strings.Index(out, ids[0]) {
		t.Errorf("cat: %s", out)
	}
	if out := s.ok("archive", "find", ids[1], dir); strings.Count(out, "\n") != 1 || !strings.Contains(out, ids[1]) {
		t.Errorf("find: %s", out)
	}
	s.holds(s.ok("archive", "cat", filepath.Join(dir, "2026", "a.jsonl.gz")), ids[3])
	s.expect(s.run("archive", "find", ids[0], filepath.Join(dir, "2026", "a.jsonl.gz")), 1, "is in none of these files")
	s.expect(s.run("archive", "find", "x", dir), 64, "x")
	s.expect(s.run("archive", "cat", filepath.Join(dir, "2026", ".c.jsonl.gz")), 1, ".c.jsonl.gz")
	s.expect(s.run("archive", "cat", filepath.Join(dir, "none")), 1, "none")
}
