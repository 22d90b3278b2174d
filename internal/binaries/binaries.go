// Package binaries finds the programs of this module that tests start. internal/suite builds them
// once for all packages; where go test is called by hand, each package builds what it needs.
package binaries

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Folder is the variable of the environment that names the folder of the programs.
const Folder = "HOLDFAST_TEST_PROGRAMS"

var (
	mu    sync.Mutex
	built string // a folder of this process's own; "" until it has built one
)

// Path returns the path of a program: "holdfast", "holdfast-vet" or "shop". dir is where its
// package is, seen from the test.
func Path(tb testing.TB, dir string) string {
	tb.Helper()
	name := filepath.Base(dir)
	if given := os.Getenv(Folder); given != "" {
		return filepath.Join(given, name)
	}
	mu.Lock()
	defer mu.Unlock()
	if built == "" {
		var err error
		if built, err = os.MkdirTemp("", "holdfast-programs-"); err != nil { //nolint:usetesting // it outlives the test
			tb.Fatal(err)
		}
		if err := os.Chmod(built, 0o755); err != nil { // tests run them as other users, too
			tb.Fatal(err)
		}
	}
	path := filepath.Join(built, name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	cmd := exec.CommandContext(tb.Context(), "go", "build", "-o", path, dir)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return path
}

// Remove removes what Path has built. A package that calls Path calls it at the end of TestMain.
func Remove() {
	mu.Lock()
	defer mu.Unlock()
	if built != "" {
		_ = os.RemoveAll(built) // or it stays in a folder of temporary files
		built = ""
	}
}
