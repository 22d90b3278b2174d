package blackbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/holdfastdev/holdfast/internal/pgtest"
)

var buildDir string

func TestMain(m *testing.M) {
	code := pgtest.Main(m)
	_ = os.RemoveAll(buildDir)
	os.Exit(code)
}

// build builds the command once for all tests.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "holdfast-blackbox-")
	if err != nil {
		return "", err
	}
	buildDir = dir
	program := filepath.Join(dir, "holdfast")
	cmd := exec.Command("go", "build", "-o", program, "../../../cmd/holdfast")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return program, nil
})
