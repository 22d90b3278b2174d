package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// losses are ways in which a database goes while it is open. Each is what somebody does at path;
// another is that of another database.
var losses = []struct {
	name string
	lose func(t *testing.T, path, another string)
	says string
}{
	{"deleted", func(t *testing.T, path, _ string) { must(t, os.Remove(path)) }, "holdfast.db was deleted"},
	{"moved", func(t *testing.T, path, _ string) { must(t, os.Rename(path, path+".old")) }, "holdfast.db was deleted or moved"},
	{"replaced", func(t *testing.T, path, another string) { must(t, os.Rename(another, path)) }, "holdfast.db was replaced"},
	{"deleted with its log", func(t *testing.T, path, _ string) {
		must(t, os.Remove(path), os.Remove(path+"-wal"), os.Remove(path+"-shm"))
	}, "was deleted"},
	{"log deleted", func(t *testing.T, path, _ string) { must(t, os.Remove(path+"-wal")) }, "holdfast.db-wal was deleted"},
	{"log replaced", func(t *testing.T, path, another string) {
		must(t, os.Rename(another, path+"-wal"))
	}, "holdfast.db-wal was replaced"},
	{"directory moved", func(t *testing.T, path, _ string) {
		must(t, os.Rename(filepath.Dir(path), filepath.Dir(path)+".old"))
	}, "was deleted or moved"},
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

// perishable returns the path of a database that may be lost, and that of another one with three
// jobs.
func perishable(t *testing.T) (path, another string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("what is open cannot be deleted")
	}
	dir := filepath.Join(t.TempDir(), "place")
	path, another = filepath.Join(dir, "holdfast.db"), file(t)
	content, err := threeJobs()
	must(t, err, os.Mkdir(dir, 0o700), os.WriteFile(path, content, 0o600), os.WriteFile(another, content, 0o600))
	return path, another
}

// threeJobs is what a database consists of that has them.
var threeJobs = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "holdfast-") // more than one test has it
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "holdfast.db")
	s, err := sqlite.File(path).Open(context.Background())
	if err != nil {
		return nil, err
	}
	if err := errors.Join(enqueue(context.Background(), s, 3), s.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func wantGone(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, store.ErrDatabaseGone) {
		t.Errorf("%s: %v", what, err)
	}
}

// TestGone: nothing is confirmed into a file that is gone, or was lost between its commit and its
// answer.
func TestGone(t *testing.T) {
	for _, loss := range losses {
		t.Run(loss.name, func(t *testing.T) {
			for _, after := range []string{"before the write", "before the commit", "after the commit"} {
				t.Run(after, func(t *testing.T) {
					ctx := t.Context()
					path, another := perishable(t)
					s := open(t, sqlite.File(path))
					must(t, enqueue(ctx, s, 1))
					sqlite.LookAgain(s) // before the write begins
					lost, looks := false, 0
					lose := func() {
						lost = true
						loss.lose(t, path, another)
					}
					sqlite.BeforeStats(s, func(at string) {
						switch looks++; {
						case lost:
						case after == "before the write" && looks == 1,
							after == "after the commit" && looks == 4: // three before it
							lose()
						case after == "before the commit" && strings.HasSuffix(at, "-shm"):
							lose()
						}
					})
					err := enqueue(ctx, s, 1)
					wantGone(t, "the enqueue", err)
					if !lost || err == nil || !strings.Contains(err.Error(), loss.says) {
						t.Errorf("lost is %t, the error %v", lost, err)
					}
					wantGone(t, "the next one", enqueue(ctx, s, 1))
				})
			}
		})
	}
}

// TestGoneForAll: every operation fails from then on, even if the file is put back.
func TestGoneForAll(t *testing.T) {
	ctx := t.Context()
	path, _ := perishable(t)
	s := open(t, sqlite.File(path))
	db := database(t, path)
	run := started(t, s, join(t, s), 1)
	if _, err := s.Get(ctx, "", run.Job.ID); err != nil { // a connection that reads is open
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Watch(ctx, func(store.Wake) {}) }()
	must(t, os.Rename(path, path+".old"))
	select {
	case err := <-ended:
		wantGone(t, "Watch", err)
	case <-time.After(time.Minute):
		t.Fatal("Watch has not noticed")
	}
	must(t, os.Rename(path+".old", path))
	wantGone(t, "Apply", enqueue(ctx, s, 1))
	_, err := s.Get(ctx, "", run.Job.ID)
	wantGone(t, "Get", err)
	_, err = s.List(ctx, store.ListParams{Limit: 1})
	wantGone(t, "List", err)
	_, err = claim(ctx, s, run.Lease.Node, 2, 1)
	wantGone(t, "Claim", err)
	_, err = s.Beat(ctx, store.BeatParams{Node: run.Lease.Node})
	wantGone(t, "Beat", err)
	_, err = s.Promote(ctx, 1)
	wantGone(t, "Promote", err)
	wantGone(t, "AwaitTx", s.AwaitTx(ctx, run.Job.ID))
	wantGone(t, "Watch", s.Watch(ctx, func(store.Wake) {}))
	tx := begin(t, db)
	wantGone(t, "EnqueueTx", s.EnqueueTx(ctx, sqlite.Tx(tx), []*store.Enqueue{newJob()}))
	must(t, tx.Rollback(), s.Close())
	// Whoever opens it finds what was confirmed.
	again := open(t, sqlite.File(path))
	if record, err := again.Get(ctx, "", run.Job.ID); err != nil || record.State != store.Running {
		t.Errorf("%+v, %v", record, err)
	}
}

// TestGoneIsNoticedWhileIdle: by a read, when nothing else has been done for a moment; by Watch
// even if it does not look for other processes; and the index of the log counts, too.
func TestGoneIsNoticedWhileIdle(t *testing.T) {
	ctx := t.Context()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		t.Run("read"+suffix, func(t *testing.T) {
			path, _ := perishable(t)
			s := open(t, sqlite.File(path))
			must(t, os.Remove(path+suffix))
			sqlite.LookAgain(s)
			_, err := s.List(ctx, store.ListParams{Limit: 1})
			wantGone(t, "List", err)
		})
		t.Run("Watch"+suffix, func(t *testing.T) {
			path, _ := perishable(t)
			source := sqlite.File(path)
			source.Poll = -1
			s := open(t, source)
			must(t, os.Remove(path+suffix))
			wantGone(t, "Watch", s.Watch(ctx, func(store.Wake) {}))
		})
	}
}

// TestGoneThroughLink: the path that was opened is what counts, and it may be a link.
func TestGoneThroughLink(t *testing.T) {
	ctx := t.Context()
	path, another := perishable(t)
	link := filepath.Join(t.TempDir(), "link.db")
	must(t, open(t, sqlite.File(path)).Close(), os.Symlink(path, link))
	s := open(t, sqlite.File(link))
	must(t, enqueue(ctx, s, 1))
	must(t, os.Remove(link), os.Symlink(another, link))
	wantGone(t, "the link leads elsewhere", enqueue(ctx, s, 1))
}

func TestGoneMemory(t *testing.T) {
	ctx := t.Context()
	if runtime.GOOS == "windows" {
		t.Skip("what is open cannot be deleted")
	}
	s := open(t, sqlite.File(sqlite.Memory))
	must(t, enqueue(ctx, s, 1), os.Remove(sqlite.Path(s)))
	wantGone(t, "a database in memory", enqueue(ctx, s, 1))
	must(t, s.Close())
	if _, err := os.Stat(filepath.Dir(sqlite.Path(s))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its directory is left: %v", err)
	}
}

// TestGoneInCallersTransaction: a transaction that a Transactor commits is not confirmed either.
func TestGoneInCallersTransaction(t *testing.T) {
	ctx := t.Context()
	path, _ := perishable(t)
	s := open(t, sqlite.File(path))
	db := plainDatabase(t, path)
	run := started(t, s, join(t, s), 1)
	err := sqlite.Begin(db).Transact(ctx, func(_ *sql.Tx, wrapped store.Tx) error {
		a := step(run.Lease, 1)
		err := s.AppendTx(ctx, wrapped, a)
		must(t, os.Remove(path))
		return errors.Join(err, a.Err)
	})
	wantGone(t, "Transact", err)
}

// TestCloseAfterReplacement: a store whose file was replaced leaves the new one and its log alone
// when it is closed.
func TestCloseAfterReplacement(t *testing.T) {
	ctx := t.Context()
	path, another := perishable(t)
	s := open(t, sqlite.File(path))
	must(t, enqueue(ctx, s, 10))
	must(t, os.Remove(path+"-wal"), os.Remove(path+"-shm"), os.Rename(another, path))
	fresh := open(t, sqlite.File(path))
	must(t, enqueue(ctx, fresh, 1))
	wantGone(t, "the old one", enqueue(ctx, s, 1))
	must(t, s.Close())
	must(t, enqueue(ctx, fresh, 1), fresh.Close())
	page, err := open(t, sqlite.File(path)).List(ctx, store.ListParams{Limit: 100})
	if err != nil || len(page.Jobs) != 3+2 {
		t.Errorf("%d jobs, %v", len(page.Jobs), err)
	}
}
