//go:build soak

package faulttest

import (
	"os"
	"testing"
)

// openTemp makes a directory that all users may look into and write to. Its path is short, as
// those of sockets have to be.
func openTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "faulttest-") //nolint:usetesting // a test's own is long, and closed to others
	if err == nil {
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
