package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

func written(t *testing.T, s store.Store) store.ID {
	q := &store.Enqueue{Job: store.Job{
		ID: uuid.Must(uuid.NewV7()), Namespace: "default", Queue: "mail", Kind: "send", Priority: 2, Args: []byte(`{"n":1}`),
	}}
	if err := store.ApplyEach(t.Context(), s, &store.Batch{Enqueues: []*store.Enqueue{q}}); err != nil || q.Err != nil {
		t.Error(err, q.Err)
	}
	return q.Job.ID
}

// TestBackupWhileJobsAreWritten: every job that was stored before a backup began is in it, and each
// backup can be used.
func TestBackupWhileJobsAreWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source := sqlite.File(filepath.Join(dir, "holdfast.db"))
	source.Synchronous = sqlite.Normal
	s, err := source.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()

	var mu sync.Mutex
	var stored []store.ID
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for range 3 {
		writers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				id := written(t, s)
				mu.Lock()
				stored = append(stored, id)
				mu.Unlock()
			}
		})
	}
	for _, name := range []string{"first", "second", "third"} {
		mu.Lock()
		before := append([]store.ID(nil), stored...)
		mu.Unlock()
		wantBackup(t, source, filepath.Join(dir, name), before)
	}
	close(stop)
	writers.Wait()
}

func wantBackup(t *testing.T, source sqlite.Config, path string, before []store.ID) {
	t.Helper()
	bytes, jobs, err := source.Backup(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() != bytes || info.Mode().Perm() != 0o600 || jobs < int64(len(before)) {
		t.Errorf("%d bytes and %d jobs, of at least %d; the file is %v, %v", bytes, jobs, len(before), info, err)
	}
	backup := sqlite.File(path)
	backup.NoMigrate = true
	opened, err := backup.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	for _, id := range before {
		if _, err := opened.Get(t.Context(), "", id); err != nil {
			t.Errorf("a job that was stored before the backup: %v", err)
		}
	}
	written(t, opened)
}

// TestBackupRefuses: neither an existing file is touched nor one of a failed backup left behind.
func TestBackupRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source := sqlite.File(filepath.Join(dir, "holdfast.db"))
	backup := filepath.Join(dir, "backup.db")
	if _, _, err := source.Backup(t.Context(), backup); !errors.Is(err, store.ErrSchema) {
		t.Errorf("a backup of nothing: %v", err)
	}
	if _, err := source.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(backup, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := source.Backup(t.Context(), backup); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a backup over a file: %v", err)
	}
	if content, err := os.ReadFile(backup); err != nil || string(content) != "precious" {
		t.Errorf("the file is %q, %v", content, err)
	}
	if _, _, err := source.Backup(t.Context(), filepath.Join(dir, "no", "backup.db")); err == nil {
		t.Error("a backup into a directory that is not there succeeded")
	}
	broken := filepath.Join(dir, "broken.db")
	if err := os.WriteFile(broken, []byte("this is no database, and never was one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := sqlite.File(broken).Backup(t.Context(), filepath.Join(dir, "of-broken.db")); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("a backup of what is no database: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*.partial-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
