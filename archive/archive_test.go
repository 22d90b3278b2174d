package archive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// faulty is a store in memory of which some removals fail, and an archive in a directory of which
// some files do.
type faulty struct {
	store.Store
	store.Source

	retained atomic.Int64 // calls of Retain

	mu    sync.Mutex
	plan  []string // what goes wrong next: "create", "write", "close", "remove", "after removal"
	to    Store
	ended map[store.ID]store.Record // all jobs, as they ended
}

func (f *faulty) Open(context.Context) (store.Store, error) { return f.Store, nil }

func (f *faulty) String() string { return "memory" }

func (f *faulty) next(what string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.plan) > 0 && f.plan[0] == what {
		f.plan = f.plan[1:]
		return fmt.Errorf("%w: %s", store.ErrFull, what)
	}
	return nil
}

type removing struct {
	store.Store
	f *faulty
}

func (r removing) RemoveExpired(ctx context.Context, jobs []store.EndedJob) (int, error) {
	if err := r.f.next("remove"); err != nil {
		return 0, err
	}
	n, err := r.Store.RemoveExpired(ctx, jobs)
	return n, errors.Join(err, r.f.next("after removal"))
}

// Retain fails if it may remove jobs: they might be over only now, and in no file.
func (r removing) Retain(ctx context.Context, params store.Retention) (store.Retained, error) {
	if !params.Archived {
		return store.Retained{}, errors.New("it may remove jobs that are not archived")
	}
	r.f.retained.Add(1)
	return r.Store.Retain(ctx, params)
}

func (f *faulty) Create(ctx context.Context, name string) (File, error) {
	if err := f.next("create"); err != nil {
		return nil, err
	}
	file, err := f.to.Create(ctx, name)
	return failing{file, f}, err
}

type failing struct {
	File
	f *faulty
}

func (f failing) Write(p []byte) (int, error) {
	if err := f.f.next("write"); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

func (f failing) Close() error {
	if err := f.f.next("close"); err != nil {
		return err
	}
	return f.File.Close()
}

// archived reads all jobs of a directory.
func archived(t *testing.T, dir string) map[store.ID]*Job {
	t.Helper()
	all := map[store.ID]*Job{}
	files, err := Files(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := Read(f, func(j *Job) error { all[j.Job.ID] = j; return nil }); err != nil {
			t.Fatal(path, err)
		}
		_ = f.Close()
	}
	return all
}

// TestWhatIsRemovedIsArchived: whatever fails, in whichever order, each job that was removed is in
// a closed file, as it ended, with what it has logged, and in the end all are removed.
func TestWhatIsRemovedIsArchived(t *testing.T) {
	t.Parallel()
	for _, plan := range []string{
		"", "create", "write", "close", "remove", "after removal",
		"create create write close remove", "close,after removal,create", //nolint:dupword // twice
	} {
		t.Run(plan, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) { playArchive(t, dir, plan) })
		})
	}
}

func playArchive(t *testing.T, dir, plan string) {
	f := &faulty{to: Dir(dir), ended: map[store.ID]store.Record{}}
	if plan != "" {
		f.plan = strings.Split(plan, ",")
		if !strings.Contains(plan, ",") && plan != "after removal" {
			f.plan = strings.Fields(plan)
		}
	}
	faults := len(f.plan)
	f.Store = removing{model.New(time.Now), f}
	ctx := t.Context()
	hf, err := holdfast.Open(ctx, f, To(f, Stubs()), holdfast.WithLogger(slog.New(slog.DiscardHandler)),
		holdfast.WithRetention(store.Retention{Completed: time.Hour, Failed: 3 * time.Hour}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(ctx)
		if err := errors.Join(hf.Stop(ctx), hf.Close(ctx)); err != nil {
			t.Error(err)
		}
	})
	send := holdfast.NewKind[int, int]("send")
	err = send.Handle(hf, func(run *holdfast.Run, n int) (int, error) {
		run.Logger(nil).Info("sent")
		if n%3 == 0 {
			return 0, holdfast.Fail(errors.New("no"))
		}
		return n, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var ids []store.ID
	for i := range 9 {
		job, err := send.Enqueue(ctx, hf, i)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, job.ID)
	}
	if err := hf.Start(ctx); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Second) //nolint:forbidigo // virtual
	for _, id := range ids {
		if f.ended[id], err = f.Get(ctx, "", id); err != nil || !f.ended[id].State.Finished() {
			t.Fatal(f.ended[id].State, err)
		}
	}
	for range 60 * 5 {
		time.Sleep(time.Minute) //nolint:forbidigo // virtual
		synctest.Wait()
		files := archived(t, dir)
		for _, id := range ids {
			_, err := f.Get(ctx, "", id)
			switch line := files[id]; {
			case err == nil:
			case line == nil:
				t.Fatalf("NoLoss: job %v was removed and is in no file", id)
			case len(line.Logs) != 1 || !strings.Contains(line.Logs[0].Lines[0], "sent"):
				t.Fatalf("the logs of %v are %+v", id, line.Logs)
			default:
				if diff := cmp.Diff(f.ended[id], line.Job, cmpopts.IgnoreFields(store.Lease{}, "Job")); diff != "" {
					t.Fatalf("job %v (-was +archived):\n%s", id, diff)
				}
			}
		}
	}
	for _, id := range ids {
		_, err := hf.Get(ctx, id)
		var is *store.ArchivedError
		if !errors.Is(err, store.ErrNotFound) || !errors.As(err, &is) {
			t.Errorf("job %v is not removed, or has left no stub: %v", id, err)
		} else if _, err := os.Stat(filepath.Join(dir, is.Stub.Archive)); err != nil {
			t.Errorf("the stub of job %v names no file: %v", id, err)
		}
	}
	if f.retained.Load() < 100 {
		t.Errorf("what else is over was removed %d times", f.retained.Load())
	}
	if len(f.plan) != 0 {
		t.Errorf("of %d faults these did not come: %v", faults, f.plan)
	}
}

// TestAnArchiveThatFailsHoldsUpJobsOnly: while no file can be made no job is removed, but what else
// is old is.
func TestAnArchiveThatFailsHoldsUpJobsOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &faulty{}
		for range 1000 {
			f.plan = append(f.plan, "create")
		}
		f.Store = removing{model.New(time.Now), f}
		ctx := t.Context()
		hf, err := holdfast.Open(ctx, f, To(f), holdfast.WithLogger(slog.New(slog.DiscardHandler)),
			holdfast.WithRetention(store.Retention{Completed: time.Hour}))
		if err != nil {
			t.Fatal(err)
		}
		send := holdfast.NewKind[int, int]("send")
		if err := send.Handle(hf, func(_ *holdfast.Run, n int) (int, error) { return n, nil }); err != nil {
			t.Fatal(err)
		}
		job, err := send.Enqueue(ctx, hf, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := hf.Start(ctx); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour) //nolint:forbidigo // virtual
		before := f.retained.Load()
		time.Sleep(time.Hour) //nolint:forbidigo // virtual
		f.mu.Lock()
		tries := 1000 - len(f.plan)
		f.mu.Unlock()
		if n := f.retained.Load() - before; n < 10 || tries < 10 {
			t.Errorf("after %d tries to make a file what else is old was removed %d times", tries, n)
		}
		if _, err := f.Get(ctx, "", job.ID); err != nil {
			t.Errorf("the job: %v", err)
		}
		if err := errors.Join(hf.Stop(context.WithoutCancel(ctx)), hf.Close(context.WithoutCancel(ctx))); err != nil {
			t.Error(err)
		}
	})
}

// TestDir: a file has its name once it is closed, and not before; nothing is left of one that was
// given up, and no name leads out of the directory.
func TestDir(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	list := func(want ...string) {
		t.Helper()
		files, err := Files(dir)
		if err != nil || fmt.Sprint(files) != fmt.Sprint(want) {
			t.Fatalf("the files are %v, %v, want %v", files, err, want)
		}
	}
	create := func(name string) File {
		f, err := Dir(dir).Create(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		return f
	}
	a, b := create("2026/11/a.jsonl.gz"), create("2026/11/b.jsonl.gz")
	list()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "2026", "11", "a.jsonl.gz")
	list(path)
	if err := errors.Join(b.Abort(), a.Abort()); err != nil {
		t.Fatal(err)
	}
	list(path)
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Fatalf("left: %v, %v", entries, err)
	}
	for _, name := range []string{"../a", "/a", "a/../../b"} {
		if _, err := Dir(dir).Create(t.Context(), name); err == nil {
			t.Errorf("%q was made", name)
		}
	}
}
