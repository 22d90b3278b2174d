package layers_test

import (
	"os"
	"testing"

	"github.com/holdfastdev/holdfast/internal/binaries"
)

// mostCommand is how large the command may be, in bytes, as scripts/release builds it.
const mostCommand = 45_000_000

// TestSizeOfTheCommand: the command fits its size. If it does not, look first whether something
// uses reflection to find methods by names that the compiler does not know, such as text/template:
// then the linker keeps all exported methods of all types. go build -ldflags=-dumpdep marks what
// does so as <ReflectMethod>.
func TestSizeOfTheCommand(t *testing.T) {
	t.Parallel()
	if os.Getenv(binaries.Folder) == "" {
		t.Skip("internal/suite builds the command as a release is built")
	}
	info, err := os.Stat(binaries.Path(t, "../../cmd/holdfast"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the command has %.1f MB", float64(info.Size())/1e6)
	if info.Size() > mostCommand {
		t.Errorf("the command has %d bytes, and may have %d", info.Size(), mostCommand)
	}
}
