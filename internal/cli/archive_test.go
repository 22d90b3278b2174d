package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/archive"
	"github.com/holdfastdev/holdfast/store"
)

// TestArchiveIsRedacted: what is secret in archived jobs is hidden, unless --redact says otherwise.
func TestArchiveIsRedacted(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	secret := []byte(`{"to":"ada","token":"hunter2"}`)
	id := uuid.Must(uuid.NewV7())
	line := archive.Job{
		Version: 1,
		Job:     store.Record{Job: store.Job{ID: id, Args: secret, Metadata: secret}, State: store.Completed, Result: secret},
		Journal: &store.Journal{Job: id, Entries: []store.Entry{{Seq: 1, Data: secret}}, Messages: []store.Message{{Seq: 1, Data: secret}}},
		Logs:    []archive.Logs{{Attempt: 1, Lines: []string{`{"message":"sent","attrs":{"token":"hunter2"}}`}}},
	}
	var packed bytes.Buffer
	to := gzip.NewWriter(&packed)
	if err := errors.Join(json.NewEncoder(to).Encode(line), to.Close()); err != nil { //nolint:musttag // records have a form of their own
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.jsonl.gz")
	if err := os.WriteFile(path, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for rules, times := range map[string]int{"default": 0, "none": 6} {
		for _, verb := range [][]string{{"archive", "cat", path}, {"archive", "find", id.String(), path}} {
			out := s.ok(append(verb, "--redact", rules)...)
			var got archive.Job
			if err := json.Unmarshal([]byte(out), &got); err != nil { //nolint:musttag // as above
				t.Fatal(err)
			}
			texts := []string{
				string(got.Job.Args), string(got.Job.Metadata), string(got.Job.Result),
				string(got.Journal.Entries[0].Data), string(got.Journal.Messages[0].Data), got.Logs[0].Lines[0],
			}
			if n := strings.Count(strings.Join(texts, " "), "hunter2"); n != times {
				t.Errorf("%s with %s shows a secret %d times, want %d: %s", verb[1], rules, n, times, texts)
			}
			if n := strings.Count(strings.Join(texts, " "), "[redacted]"); n != 6-times {
				t.Errorf("%s with %s hides %d of %d: %s", verb[1], rules, n, 6-times, texts)
			}
		}
	}
}

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
	s.expect(s.run("archive", "find", ids[0][:20], dir), 64, "is not the whole id of a job")
	s.ok("archive", "find", "job/"+ids[0], dir)
	s.expect(s.run("archive", "cat", filepath.Join(dir, "2026", ".c.jsonl.gz")), 1, ".c.jsonl.gz is no whole file of an archive")
	s.expect(s.run("archive", "cat", filepath.Join(dir, "none")), 1, "none")
}

// TestArchiveStubs: a job that was archived and removed is told by its stub.
func TestArchiveStubs(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	dir := t.TempDir()
	s.ok("migrate", "up")
	id := strings.TrimSpace(s.ok("job", "enqueue", "send", "{}", "--output", "id"))
	s.ok("job", "cancel", id)
	retain := []string{"maintain", "retain", "--cancelled", "1us", "--archive", dir, "--archive-stubs", "1h", "--archive-without-journals"}
	s.ok(retain...)
	got := s.run("job", "get", id)
	s.expect(got, s.run("job", "get", uuid.NewString()).code, "was archived in 20", "its state was cancelled")
	s.holds(s.ok("archive", "find", id, dir), id)
	s.holds(s.ok("retention", "removed", "--output", "json"), `"stubs": 1`)
	s.expect(s.run("maintain", "retain", "--cancelled", "1us", "--archive-stubs", "1h"), 64, "--archive-stubs needs --archive")
	s.expect(s.run("maintain", "retain", "--cancelled", "1us", "--archive-without-journals"), 64, "needs --archive")
	s.expect(s.run("maintain", "retain", "--cancelled", "1us", "--archive", dir, "--archive-stubs", "-1h"), 64, "is negative")
}
