//go:build soak

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/crashtest/process"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/dsn"
)

// TestKilled kills the program at random moments and starts it again, until it has written its
// index.
func TestKilled(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		testKilled(t, filepath.Join(t.TempDir(), "stdlib-index.db"), 1)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		testKilled(t, pgtest.Shared(t).Database(t), 3)
	})
}

func testKilled(t *testing.T, database string, processes int) {
	t.Helper()
	paths, err := packagesOf(library)
	if err != nil {
		t.Fatal(err)
	}
	want, err := directly()
	if err != nil {
		t.Fatal(err)
	}
	client := open(t, database)
	programs := make([]*program, processes)
	for i := range programs {
		programs[i] = start(t, database)
	}
	for kills := range 6 {
		done := len(jobs(t, client, store.Completed))
		target := done + rand.IntN((len(paths)-done)/3+1)
		t.Logf("kill %d when %d of %d packages are indexed", kills+1, target, len(paths))
		until(t, 2*time.Minute, "some more packages are indexed", func() bool {
			return len(jobs(t, client, store.Completed)) >= target
		})
		victim := rand.IntN(processes)
		programs[victim].Kill()
		programs[victim] = start(t, database)
	}
	for _, p := range programs {
		if p.finish(t); !bytes.Equal(p.index(t), want) {
			t.Error("the index is not that of a direct parse")
		}
	}

	// Each package is one job, which has completed.
	var indexed []string
	for _, job := range jobs(t, client) {
		var p Package
		if err := json.Unmarshal(job.Args, &p); err != nil {
			t.Fatal(err)
		}
		indexed = append(indexed, p.Path)
		if job.State != store.Completed {
			t.Errorf("package %s is %s", p.Path, job.State)
		}
	}
	if slices.Sort(indexed); !slices.Equal(indexed, paths) {
		t.Errorf("there are %d jobs for %d packages", len(indexed), len(paths))
	}

	again := start(t, database)
	again.finish(t)
	if output := again.text(t); !strings.Contains(output, "all of it had been done before") {
		t.Errorf("a second run said %q", output)
	}
	if !bytes.Equal(again.index(t), want) {
		t.Error("a second run wrote another index")
	}
}

// TestAnotherRound shows that a new round finds nothing of the one before.
func TestAnotherRound(t *testing.T) {
	t.Parallel()
	paths, err := packagesOf(library)
	if err != nil {
		t.Fatal(err)
	}
	database := filepath.Join(t.TempDir(), "stdlib-index.db")
	client := open(t, database)
	for round := 1; round <= 2; round++ {
		p := start(t, database, "--round", strconv.Itoa(round))
		until(t, time.Minute, "all packages are enqueued once more", func() bool { return len(jobs(t, client)) == round*len(paths) })
		p.Kill()
	}
}

// directly is the index as it is without jobs. It is the same for all tests.
var directly = sync.OnceValues(func() (index []byte, err error) {
	paths, err := packagesOf(library)
	if err != nil {
		return nil, err
	}
	exports := make([]Exports, len(paths))
	for i, path := range paths {
		if exports[i], err = exportsOf(library, path); err != nil {
			return nil, err
		}
	}
	file := binary + ".index"
	if _, err := writeIndex(file, exports); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
})

// TestExports looks for names that everybody knows.
func TestExports(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ path, what, name string }{
		{"fmt", "func", "Println"},
		{"io", "var", "EOF"},
		{"io", "type", "Reader"},
		{"math", "const", "MaxInt64"},
		{"net/http", "method", "Client.Do"},
		{"sync/atomic", "method", "Pointer.Load"}, // generic
		{"syscall", "type", "Handle"},             // on Windows alone
	} {
		e, err := exportsOf(library, test.path)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(e.Names[test.what], test.name) {
			t.Errorf("%s: no %s %s in %q", test.path, test.what, test.name, e.Names[test.what])
		}
		if e.Counts[test.what] != len(e.Names[test.what]) {
			t.Errorf("%s: counted %d %ss, there are %d", test.path, e.Counts[test.what], test.what, len(e.Names[test.what]))
		}
	}
}

// program is a running stdlibindex with a directory of its own.
type program struct {
	*process.Process
	dir string
}

// start starts the program. It is killed at the end of the test.
func start(t *testing.T, database string, args ...string) *program {
	t.Helper()
	p := &program{dir: t.TempDir()}
	output, err := os.Create(filepath.Join(p.dir, "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, output, output
	cmd.Env = append(os.Environ(), "HOLDFAST_DATABASE="+database)
	if p.Process, err = process.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

// finish waits until the program has done its work.
func (p *program) finish(t *testing.T) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(2 * time.Minute):
		t.Fatalf("the program does not end: %s", p.text(t))
	}
	if err := p.Wait(); err != nil {
		t.Fatalf("the program ended with %v: %s", err, p.text(t))
	}
}

func (p *program) text(t *testing.T) string {
	t.Helper()
	return string(read(t, filepath.Join(p.dir, "output")))
}

func (p *program) index(t *testing.T) []byte {
	t.Helper()
	return read(t, filepath.Join(p.dir, "stdlib-index.json"))
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func open(t *testing.T, database string) *holdfast.Client {
	t.Helper()
	source, err := dsn.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	client, err := holdfast.Open(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return client
}

// jobs lists the jobs in the given states, or all.
func jobs(t *testing.T, client *holdfast.Client, states ...store.State) (records []store.Record) {
	t.Helper()
	for after := ""; ; {
		page, err := client.List(t.Context(), store.Filter{States: states}, after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, page.Jobs...)
		if after = page.Next; after == "" {
			return records
		}
	}
}

// until waits for a condition.
func until(t *testing.T, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(limit); !condition(); <-ticker.C {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}
