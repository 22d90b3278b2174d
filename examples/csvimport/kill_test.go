package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/crashtest/process"
	"github.com/holdfastdev/holdfast/internal/pgtest"
)

// binary is the program, built for these tests.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndTest(m)) }

func buildAndTest(m *testing.M) (status int) {
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
