package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

func examined(t *testing.T, c Config) map[string]store.Finding {
	t.Helper()
	found, err := c.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]store.Finding{}
	for _, f := range found {
		by[f.Check] = f
	}
	return by
}

// TestExamine: of a file that is as it should be nothing is said but that; and it is left alone.
func TestExamine(t *testing.T) {
	t.Parallel()
	c := Config{Path: filepath.Join(t.TempDir(), "jobs.db")}
	if found := examined(t, c); len(found) != 2 {
		t.Errorf("without a file: %+v", found)
	}
	if _, err := os.Stat(c.Path); err == nil {
		t.Error("it has made the file")
	}
	if _, err := c.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	found := examined(t, c)
	for _, check := range []string{"disk", "durability", "write lock", "write-ahead log", "size"} {
		if f, is := found[check]; !is || check != "disk" && f.Severity != store.Well {
			t.Errorf("%s: %+v", check, f)
		}
	}
	c.Synchronous = Normal
	if f := examined(t, c)["durability"]; f.Severity != store.Note {
		t.Errorf("%+v", f)
	}
	if found := examined(t, Config{Path: Memory}); len(found) != 0 {
		t.Errorf("of a database in memory: %+v", found)
	}
}

// TestExamineWaitsForTheLock: a process that holds the lock is a problem, not an error, and the
// examination ends.
func TestExamineWaitsForTheLock(t *testing.T) {
	t.Parallel()
	c := Config{Path: filepath.Join(t.TempDir(), "jobs.db")}
	if _, err := c.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w, err := db.OpenConn(c.Path, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.BeginImmediate(); err != nil {
		t.Fatal(err)
	}
	if f := examined(t, c)["write lock"]; f.Severity != store.Problem || !strings.Contains(f.Text, "another process") {
		t.Errorf("%+v", f)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := c.Examine(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a caller who gives up is told %v", err)
	}
	w.Rollback()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if f := examined(t, c)["write lock"]; f.Severity > store.Warning {
		t.Errorf("afterwards: %+v", f)
	}
}

// TestExamineFindsALargeLog: one that is larger than it is ever left.
func TestExamineFindsALargeLog(t *testing.T) {
	t.Parallel()
	c := Config{Path: filepath.Join(t.TempDir(), "jobs.db")}
	for size, want := range map[int64]store.Severity{64 << 20: store.Well, 300 << 20: store.Warning} {
		if err := os.WriteFile(c.Path+"-wal", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(c.Path+"-wal", size); err != nil {
			t.Fatal(err)
		}
		if f := c.logFinding(); f.Severity != want {
			t.Errorf("%d bytes: %+v", size, f)
		}
	}
}

// TestDisks: what is said of file systems.
func TestDisks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		place
		err   error
		want  store.Severity
		words string
	}{
		{place{left: 80e9}, nil, store.Well, "80.0 GB"},
		{place{left: 999}, nil, store.Problem, "999 bytes"},
		{place{left: 100e6}, nil, store.Problem, "100.0 MB"},
		{place{left: 500e6}, nil, store.Warning, "500.0 MB"},
		{place{left: 80e9, kind: "NFS", network: true}, nil, store.Problem, "(NFS)"},
		{place{left: 80e9, kind: "the layer of a container", gone: "with the container"}, nil, store.Warning, "gone with the container"},
		{place{}, errors.New("denied"), store.Note, "denied"},
	} {
		if f := diskFinding(c.place, c.err); f.Severity != c.want || !strings.Contains(f.Text, c.words) {
			t.Errorf("%+v: %+v", c.place, f)
		}
	}
}
