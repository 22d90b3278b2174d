//go:build soak

package archive

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
)

const (
	envDatabase = "HOLDFAST_TEST_ARCHIVE_OF"
	envDir      = "HOLDFAST_TEST_ARCHIVE_IN"
)

// briefly lets all finished jobs be over.
var briefly = store.Retention{Completed: time.Microsecond, Failed: time.Microsecond, Cancelled: time.Microsecond, Limit: 20, Archived: true}

// TestArchiveKilled: processes that archive and remove are killed at any moment, again and again.
// Each job is in the database or in a file that counts, and one that is gone has left a stub that
// names a file in which it is.
func TestArchiveKilled(t *testing.T) {
	if os.Getenv(envDatabase) != "" {
		archiveAll(t)
		return
	}
	t.Run("sqlite", func(t *testing.T) { killArchivers(t, filepath.Join(t.TempDir(), "holdfast.db")) })
	t.Run("postgres", func(t *testing.T) {
		url, _ := pgtest.Shared(t).Schema(t)
		killArchivers(t, url)
	})
}

// archiveAll is the process that is killed: what the duty of a leader does, without a pause.
func archiveAll(t *testing.T) {
	s := open(t, os.Getenv(envDatabase))
	for {
		jobs, _, err := s.Expired(t.Context(), briefly)
		if err != nil {
			t.Fatal(err)
		}
		if len(jobs) == 0 {
			return
		}
		w := &writer{to: Dir(os.Getenv(envDir)), stubs: true}
		if err := w.write(t.Context(), s, jobs); err != nil {
			t.Fatal(err)
		}
		if _, err := s.RemoveExpired(t.Context(), jobs); err != nil {
			t.Fatal(err)
		}
	}
}

func killArchivers(t *testing.T, database string) {
	s := open(t, database)
	const n = 600
	var ids []store.ID
	for range n / 100 {
		batch := &store.Batch{}
		var made []store.ID
		for range 100 {
			// Of a day that is over, as PostgreSQL looks at no other.
			id := uuid.Must(uuid.NewV7())
			ms := time.Now().Add(-5 * 24 * time.Hour).UnixMilli()
			for i := range 6 {
				id[i] = byte(ms >> (40 - 8*i))
			}
			made = append(made, id)
			batch.Enqueues = append(batch.Enqueues, &store.Enqueue{Job: store.Job{
				ID: id, Namespace: "default", Queue: "mail", Kind: "send", Priority: 2, Args: []byte("{}"), MaxAttempts: 3,
			}})
		}
		if err := s.Apply(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Cancel(t.Context(), store.CancelParams{Namespace: "default", Jobs: made}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, made...)
	}
	dir := t.TempDir()
	kills := 0
	// A process lives a little longer from round to round, however slowly it starts here.
	for life := 20 * time.Millisecond; life < time.Minute; life += life / 8 {
		if runArchiver(t, database, dir, life) {
			break
		}
		kills++
		wantAll(t, s, dir, ids)
	}
	left := wantAll(t, s, dir, ids)
	removed, err := s.Removed(t.Context(), store.RemovedParams{Namespace: "default", Limit: 10})
	if err != nil || left != 0 || len(removed) == 0 || kills == 0 {
		t.Fatalf("%d jobs are left after %d kills; %+v were counted, %v", left, kills, removed, err)
	}
	sum, stubs := int64(0), int64(0)
	for _, r := range removed {
		sum, stubs = sum+r.Jobs, stubs+r.Stubs
	}
	if sum != n || stubs != n {
		t.Errorf("%d jobs and %d stubs were counted, want %d", sum, stubs, n)
	}
	t.Logf("%d kills", kills)
}

// runArchiver runs a process and kills it after a moment, later from round to round; or reports
// that it has come to its end.
func runArchiver(t *testing.T, database, dir string, atLeast time.Duration) (ended bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), atLeast+time.Duration(rand.Int64N(int64(100*time.Millisecond))))
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestArchiveKilled$")
	cmd.Env = append(os.Environ(), envDatabase+"="+database, envDir+"="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil && ctx.Err() == nil {
		t.Fatalf("%v: %s", err, out)
	}
	return err == nil
}

// wantStub checks that a job has left a stub, which names a file in which it is.
func wantStub(t *testing.T, s store.Store, dir string, id store.ID) {
	t.Helper()
	_, err := s.Get(t.Context(), "default", id)
	var is *store.ArchivedError
	if !errors.As(err, &is) {
		t.Fatalf("AtomicTransitions: job %v was removed and has left no stub: %v", id, err)
	}
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(is.Stub.Archive)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found := false
	if err := Read(f, func(j *Job) error { found = found || j.Job.ID == id; return nil }); err != nil || !found {
		t.Fatalf("job %v is not in %s, which its stub names: %v", id, is.Stub.Archive, err)
	}
}

// wantAll checks that each job is there or archived, and returns how many are there.
func wantAll(t *testing.T, s store.Store, dir string, ids []store.ID) (left int) {
	t.Helper()
	ended, err := s.Ended(t.Context(), "default", ids) // before the files are read: what is removed was in one
	if err != nil {
		t.Fatal(err)
	}
	there := map[store.ID]bool{}
	for _, e := range ended {
		there[e.ID] = e.State != 0
	}
	files := archived(t, dir)
	for _, id := range ids {
		if there[id] {
			left++
			continue
		}
		if files[id] == nil {
			t.Fatalf("NoLoss: job %v was removed and is in no file", id)
		}
		wantStub(t, s, dir, id)
	}
	return left
}
