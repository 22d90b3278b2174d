//go:build soak

package sqlite_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// TestGoneUnderLoad: while many enqueue, the file is lost at some moment. What was begun afterwards
// is not confirmed, and what was confirmed is in the file that was there: in its bytes and those of
// its log, which links keep.
func TestGoneUnderLoad(t *testing.T) {
	const writers, jobs = 8, 1000
	for _, loss := range losses {
		t.Run(loss.name, func(t *testing.T) {
			ctx := t.Context()
			path, another := perishable(t)
			s := open(t, sqlite.File(path))
			kept := file(t)
			must(t, os.Link(path, kept), os.Link(path+"-wal", kept+"-wal"))

			var mu sync.Mutex
			var confirmed []store.ID
			var tried, late atomic.Int64
			var gone atomic.Bool
			losing := make(chan struct{})
			at := rand.Int64N(jobs * 3 / 4)
			var all sync.WaitGroup
			all.Go(func() {
				<-losing
				loss.lose(t, path, another)
				gone.Store(true)
			})
			for range writers {
				all.Go(func() {
					for n := tried.Add(1); n <= jobs; n = tried.Add(1) {
						if n == at+1 {
							close(losing)
						}
						q := newJob()
						began := gone.Load()
						err := store.ApplyEach(ctx, s, &store.Batch{Enqueues: []*store.Enqueue{q}})
						switch {
						case err == nil:
							mu.Lock()
							confirmed = append(confirmed, q.Job.ID)
							mu.Unlock()
							if began {
								late.Add(1)
							}
						case !errors.Is(err, store.ErrDatabaseGone):
							t.Errorf("an enqueue: %v", err)
						}
					}
				})
			}
			all.Wait()
			wantGone(t, "the last one", enqueue(ctx, s, 1))
			if n := late.Load(); n != 0 {
				t.Errorf("%d enqueues were confirmed that began when the file was gone", n)
			}
			found := jobsIn(t, kept)
			for _, id := range confirmed {
				if !found[id] {
					t.Errorf("the confirmed job %v is not in the file that was there", id)
				}
			}
			if len(confirmed) == jobs {
				t.Error("the file was lost too late")
			}
			t.Logf("%d confirmed before, %d found", len(confirmed), len(found))
		})
	}
}

// jobsIn returns the jobs in a database as a crash would leave it now: its file and its log are
// copied.
func jobsIn(t *testing.T, path string) map[store.ID]bool {
	t.Helper()
	copied := file(t)
	must(t, copyFile(path, copied), copyFile(path+"-wal", copied+"-wal"))
	s := open(t, sqlite.File(copied))
	found := map[store.ID]bool{}
	for after, more := "", true; more; more = after != "" {
		page, err := s.List(context.Background(), store.ListParams{Limit: 1000, After: after})
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range page.Jobs {
			found[job.ID] = true
		}
		after = page.Next
	}
	return found
}
