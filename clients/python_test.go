//go:build soak

package clients

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/holdfastdev/holdfast/internal/binaries"
	"github.com/holdfastdev/holdfast/internal/pgtest"
)

// TestPython runs the tests of the Python client against servers of its own, which they kill.
func TestPython(t *testing.T) {
	t.Parallel()
	runPython(t)
}

// TestPythonPostgres does the same with servers on PostgreSQL, of which each has a schema.
func TestPythonPostgres(t *testing.T) {
	t.Parallel()
	runPython(t, "HOLDFAST_POSTGRES="+pgtest.Shared(t).Database(t))
}

func runPython(t *testing.T, env ...string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	if exec.CommandContext(t.Context(), python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))").Run() != nil {
		t.Skip("the Python client needs 3.11 or later")
	}
	binary := binaries.Path(t, "../cmd/holdfast")
	tests := exec.CommandContext(t.Context(), python,
		"-B", "-W", "error::ResourceWarning", "-m", "unittest", "discover", "-s", "tests", "-t", ".")
	tests.Dir = "python"
	tests.Env = slices.Concat(os.Environ(), env, []string{"HOLDFAST_BINARY=" + binary})
	if out, err := tests.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
