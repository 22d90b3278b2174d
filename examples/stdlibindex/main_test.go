package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/holdfastdev/holdfast/internal/pgtest"
)

// binary is the program, built for these tests.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndTest(m)) }

func buildAndTest(m *testing.M) (status int) {
	dir, err := os.MkdirTemp("", "stdlibindex")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "stdlibindex.exe") // Windows wants the suffix, the others do not mind
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", binary, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, output)
		return 1
	}
	return pgtest.Main(m)
}
