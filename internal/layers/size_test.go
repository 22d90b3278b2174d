package layers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/holdfastdev/holdfast/internal/racing"
)

// mostCommand is how large the command may be, in bytes, as scripts/release builds it.
const mostCommand = 45_000_000

// TestSizeOfTheCommand: the command fits its size. If it does not, look first whether something
// uses reflection to find methods by names that the compiler does not know, such as text/template:
// then the linker keeps all exported methods of all types. go build -ldflags=-dumpdep marks what
// does so as <ReflectMethod>.
func TestSizeOfTheCommand(t *testing.T) {
	t.Parallel()
	racing.Off(t) // it links a program
	if testing.Short() {
		t.Skip("it links a program")
	}
	program := filepath.Join(t.TempDir(), "holdfast")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "../../cmd/holdfast")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the command has %.1f MB", float64(info.Size())/1e6)
	if info.Size() > mostCommand {
		t.Errorf("the command has %d bytes, and may have %d", info.Size(), mostCommand)
	}
}
