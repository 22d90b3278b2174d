//go:build soak

package clients

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/holdfastdev/holdfast/internal/binaries"
	"github.com/holdfastdev/holdfast/internal/pgtest"
)

// TestTypeScript runs the tests of the TypeScript client against servers of its own, which they
// kill.
func TestTypeScript(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("typescript/test/*.test.js")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no tests: %v", err)
	}
	for i, file := range files {
		files[i] = filepath.Join("test", filepath.Base(file))
	}
	runNode(t, nil, files...)
}

// TestTypeScriptPostgres runs the one that is worth telling apart against PostgreSQL.
func TestTypeScriptPostgres(t *testing.T) {
	t.Parallel()
	env := []string{"HOLDFAST_POSTGRES=" + pgtest.Shared(t).Database(t)}
	out := runNode(t, env, "--test-name-pattern", "on PostgreSQL$", "test/durable.test.js")
	if !bytes.Contains(out, []byte("# pass 1\n")) {
		t.Fatalf("it did not run:\n%s", out)
	}
}

// runNode runs tests of the TypeScript client, or skips them where there is no Node that can.
func runNode(t *testing.T, env []string, args ...string) []byte {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node")
	}
	atLeast := `const [major, minor] = process.versions.node.split(".").map(Number);
		process.exit(major > 20 || (major === 20 && minor >= 3) ? 0 : 1);`
	if exec.CommandContext(t.Context(), node, "--eval", atLeast).Run() != nil {
		t.Skip("the TypeScript client needs Node 20.3 or later")
	}
	binary := binaries.Path(t, "../cmd/holdfast")
	tests := exec.CommandContext(t.Context(), node,
		append([]string{"--test", "--test-reporter=tap"}, args...)...)
	tests.Dir = "typescript"
	tests.Env = append(append(os.Environ(), "HOLDFAST_BINARY="+binary), env...)
	out, err := tests.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if bytes.Contains(out, []byte("Warning:")) {
		t.Fatalf("Node warns:\n%s", out)
	}
	return out
}

// TestTypeScriptTypes lets the compiler compare what index.d.ts tells with what the modules have,
// and with how programs use it. The compiler is installed for that; programs need none.
func TestTypeScriptTypes(t *testing.T) {
	t.Parallel()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("there is no npm")
	}
	install := exec.CommandContext(t.Context(), npm, "ci", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = "typescript"
	if out, err := install.CombinedOutput(); err != nil {
		if bytes.Contains(out, []byte("EUSAGE")) {
			t.Fatalf("package-lock.json is not that of package.json: %s", out)
		}
		t.Skipf("NOT TESTED, because the compiler cannot be installed: %v: %s", err, out)
	}
	check := exec.CommandContext(t.Context(), npm, "run", "--silent", "types")
	check.Dir = "typescript"
	if out, err := check.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
