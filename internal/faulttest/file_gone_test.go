//go:build soak

package faulttest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// siblings are the suffixes of the files of one database.
var siblings = []string{"", "-wal", "-shm"}

// TestFileThatVanishes deletes or replaces the file of a database at a random moment of a
// thousand enqueues. What was confirmed is in the file that was there then, and nothing is
// confirmed that goes to a file which nobody can find any more: enqueues fail, and the node
// ends with an error.
func TestFileThatVanishes(t *testing.T) {
	t.Parallel()
	for _, way := range []struct {
		name   string
		remove []string // the siblings that are deleted
		other  []string // those that another database's take the place of
	}{
		{"deleted", siblings[:1], nil},
		{"deleted with its log", siblings, nil},
		{"replaced", nil, siblings[:1]},
		{"replaced with its log", nil, siblings},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			db := onSQLite(t)
			v := &vanishing{t: t, path: db.path, kept: filepath.Join(filepath.Dir(db.path), "kept.db")}
			v.producer, v.worker = v.open(), v.open()
			if way.other != nil {
				v.other = v.another()
			}
			v.link()
			ran := make(chan error, 1)
			register(t, v.worker, vanishingKind, func(*holdfast.Run, int) (int, error) { return 0, nil })
			go func() { ran <- v.worker.Run(context.WithoutCancel(t.Context())) }()
			waits := v.wait(v.producer, v.worker)

			v.enqueueWhile(func() {
				for _, suffix := range way.remove {
					v.check(os.Remove(db.path + suffix))
				}
				for _, suffix := range way.other {
					v.check(os.Rename(v.other+suffix, db.path+suffix))
				}
			})
			select {
			case err := <-ran:
				if err == nil {
					t.Error("the node ended without an error")
				}
			case <-time.After(soon):
				t.Errorf("the node goes on for %v on a file that is gone", soon)
			}
			for range cap(waits) {
				if err := receive(t, "a wait ends with the file", waits); !errors.Is(err, holdfast.ErrDatabaseGone) {
					t.Errorf("waiting for a job ended with %v", err)
				}
			}
			v.close(v.producer)
			v.close(v.worker)
			v.look()
		})
	}
}

// vanishing is a database whose file vanishes.
type vanishing struct {
	t                *testing.T
	path             string
	kept             string // another name of the file, by which it can be read when it has vanished
	other            string // the database that takes its place, or ""
	producer, worker *holdfast.Client

	phase     atomic.Int32 // 0: the file is there; 1: it is vanishing; 2: it has vanished
	mu        sync.Mutex
	confirmed []confirmation
	refused   int
	last      error
}

// confirmation is an enqueue that returned without an error.
type confirmation struct {
	id         holdfast.ID
	begun, end int32 // the phases
}

var vanishingKind = holdfast.NewKind[int, int]("vanishing")

func (v *vanishing) check(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
}

// open opens a client that may not close well.
func (v *vanishing) open() *holdfast.Client {
	v.t.Helper()
	source := sqlite.Config{Path: v.path, Synchronous: sqlite.Normal} // a thousand syncs take a while
	hf, err := holdfast.Open(v.t.Context(), source, holdfast.WithStopTimeout(time.Nanosecond))
	v.check(err)
	v.t.Cleanup(func() { v.close(hf) })
	return hf
}

func (v *vanishing) close(hf *holdfast.Client) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.t.Context()), 5*time.Second)
	defer cancel()
	if err := hf.Close(ctx); err != nil {
		v.t.Logf("Close: %v", err)
	}
}

// wait lets clients wait for a job that does not end before the file has vanished.
func (v *vanishing) wait(clients ...*holdfast.Client) <-chan error {
	v.t.Helper()
	job := enqueue(v.t, v.producer, vanishingKind, 0, holdfast.Delay(time.Hour))
	ended := make(chan error, len(clients))
	for _, hf := range clients {
		go func() { ended <- hf.Wait(v.t.Context(), job.ID) }()
	}
	return ended
}

// another makes a database that has a log, and returns its path.
func (v *vanishing) another() string {
	v.t.Helper()
	live, path := filepath.Join(filepath.Dir(v.path), "live.db"), filepath.Join(filepath.Dir(v.path), "other.db")
	hf := open(v.t, sqlite.File(live))
	enqueue(v.t, hf, vanishingKind, 0, holdfast.Delay(time.Hour))
	for _, suffix := range siblings {
		data, err := os.ReadFile(live + suffix)
		v.check(err)
		v.check(os.WriteFile(path+suffix, data, 0o600))
	}
	return path
}

// link gives the files a second name.
func (v *vanishing) link() {
	v.t.Helper()
	for _, suffix := range siblings {
		v.check(os.Link(v.path+suffix, v.kept+suffix))
	}
}

// enqueueWhile enqueues a thousand jobs, and lets the file vanish in between.
func (v *vanishing) enqueueWhile(vanish func()) {
	v.t.Helper()
	const total, writers, stubborn = 1000, 8, 5
	moment := int32(200 + random(v.t).IntN(600))
	var begun atomic.Int32
	var once sync.Once
	_ = together(writers, func(int) error {
		for refused := 0; refused < stubborn; {
			n := begun.Add(1)
			if n > total {
				return nil
			}
			if n >= moment {
				once.Do(func() {
					v.phase.Store(1)
					vanish()
					v.phase.Store(2)
				})
			}
			c := confirmation{id: holdfast.NewID(), begun: v.phase.Load()}
			ctx, cancel := context.WithTimeout(v.t.Context(), patience)
			_, err := vanishingKind.Enqueue(ctx, v.producer, 0, holdfast.JobID(c.id), holdfast.Delay(time.Hour))
			cancel()
			c.end = v.phase.Load()
			v.mu.Lock()
			if err == nil {
				v.confirmed = append(v.confirmed, c)
			} else {
				refused++
				v.refused++
				v.last = err
				if c.end == 0 {
					v.t.Errorf("an enqueue failed while the file was there: %v", err)
				}
			}
			v.mu.Unlock()
		}
		return nil
	})
	v.t.Logf("after %d enqueues the file vanished; %d were confirmed in all, %d refused: %v", moment, len(v.confirmed), v.refused, v.last)
	if v.refused > 0 && (errors.Is(v.last, context.DeadlineExceeded) || errors.Is(v.last, holdfast.ErrUnavailable)) {
		v.t.Errorf("the error says that it may go well later: %v", v.last)
	}
}

// look looks for the jobs that were confirmed.
func (v *vanishing) look() {
	v.t.Helper()
	// The index of the log is made again by whoever comes first.
	v.check(os.Remove(v.kept + "-shm"))
	kept := v.idsIn(v.kept)
	lost := map[string]int{}
	for _, c := range v.confirmed {
		switch {
		case c.begun == 2:
			lost["enqueued and confirmed after the file had vanished"]++
		case !kept[c.id]:
			lost["confirmed before the file vanished, or while it did"]++
		}
	}
	for when, n := range lost {
		v.t.Errorf("%d jobs are lost that were %s", n, when)
	}
}

// idsIn are the jobs of a file.
func (v *vanishing) idsIn(path string) map[holdfast.ID]bool {
	v.t.Helper()
	hf := open(v.t, sqlite.File(path))
	ids := map[holdfast.ID]bool{}
	for after := ""; ; {
		page, err := hf.List(v.t.Context(), store.Filter{}, after, 1000)
		v.check(err)
		for _, r := range page.Jobs {
			ids[r.ID] = true
		}
		if after = page.Next; after == "" {
			return ids
		}
	}
}
