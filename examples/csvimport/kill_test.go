package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/crashtest/process"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
)

// binary is the program, built for these tests.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndTest(m)) }

func buildAndTest(m *testing.M) (status int) {
	if flag.Parse(); testing.Short() {
		return 0 // it is built; what it does takes its time
	}
	dir, err := os.MkdirTemp("", "csvimport")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "csvimport.exe") // Windows wants the suffix, the others do not mind
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", binary, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, output)
		return 1
	}
	return pgtest.Main(m)
}

// TestKilled kills the program's processes at random moments and starts others, while they import
// and when they wait for the approval.
func TestKilled(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, database string) {
		o := small(t, database)
		o.rows = 20_000
		look := openTest(t, database)
		programs := make([]*program, 2)
		for i := range programs {
			programs[i] = o.start(t)
		}
		for kills := range 6 {
			done := look.rows(t)
			target := done + rand.IntN((o.rows-done)/3+1)
			t.Logf("kill %d when %d of %d rows are there", kills+1, target, o.rows)
			until(t, "some more rows are there", func() bool { return look.rows(t) >= target })
			victim := rand.IntN(len(programs))
			programs[victim].Kill()
			programs[victim] = o.start(t)
		}
		job := look.imports(t)[0]
		if _, err := look.hf.WaitPublished(t.Context(), job.ID, imported, 0); err != nil {
			t.Fatal(err)
		}
		for _, p := range programs {
			p.Kill()
		}
		if n := look.rows(t); n != o.rows {
			t.Errorf("%d rows are there of %d", n, o.rows)
		}
		o.approve = true
		if text := o.start(t).finish(t, true); !strings.Contains(text, "agree") {
			t.Errorf("it said %s", text)
		}
		look.confirmRows(t, o)
		if n := len(look.imports(t)); n != 1 {
			t.Errorf("there were %d imports", n)
		}
		record, err := job.Get(t.Context())
		if err != nil || record.State != store.Completed {
			t.Errorf("the import is %s: %v", record.State, err)
		}
		t.Logf("%d runs of jobs were cut off", look.lost(t))
	})
}

// TestKilledUndoing kills the program while it deletes what it has imported.
func TestKilledUndoing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, database string) {
		o := small(t, database)
		o.rows, o.chunk, o.refuse = 6000, 50, true
		look := openTest(t, database)
		p := o.start(t)
		until(t, "the import has begun", func() bool { return len(look.imports(t)) > 0 })
		job := look.imports(t)[0]
		if _, err := look.hf.WaitPublished(t.Context(), job.ID, imported, 0); err != nil {
			t.Fatal(err)
		}
		for kills := range 2 {
			left := look.rows(t) * (1 + rand.IntN(9)) / 10
			t.Logf("kill %d when %d of %d rows are left", kills+1, left, o.rows)
			until(t, "some more rows are deleted", func() bool { return look.rows(t) <= left })
			p.Kill()
			p = o.start(t)
		}
		if text := p.finish(t, false); !strings.Contains(text, "; 0 of its rows are left") || !strings.Contains(text, "refused by") {
			t.Errorf("it said %s", text)
		}
		look.nothingLeft(t)
	})
}

// program is a running csvimport.
type program struct {
	*process.Process

	output string
}

// start starts the program. It is killed at the end of the test.
func (o options) start(t *testing.T) *program {
	t.Helper()
	p := &program{output: filepath.Join(t.TempDir(), "output")}
	output, err := os.Create(p.output)
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	cmd := exec.Command(binary, "--dir", o.dir, "--rows", strconv.Itoa(o.rows), "--seed", strconv.FormatUint(o.seed, 10),
		"--chunk", strconv.Itoa(o.chunk), fmt.Sprint("--approve=", o.approve), fmt.Sprint("--refuse=", o.refuse))
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), output, output
	cmd.Env = append(os.Environ(), "HOLDFAST_DATABASE="+o.database)
	if p.Process, err = process.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

// finish waits for the end of the program, and returns what it has said.
func (p *program) finish(t *testing.T, well bool) string {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(time.Minute):
		t.Fatalf("the program does not end: %s", p.text(t))
	}
	if err := p.Wait(); (err == nil) != well {
		t.Fatalf("the program ended with %v: %s", err, p.text(t))
	}
	return p.text(t)
}

func (p *program) text(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(p.output)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
