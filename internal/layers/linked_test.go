package layers_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// unlinked are programs and packages, and what must not get into them by any way.
var unlinked = []struct {
	of, prefix, why string
}{
	{"./cmd/holdfast", module + "/internal/vet", "holdfast vet runs a program of its own, cmd/holdfast-vet"},
	{"./cmd/holdfast", "golang.org/x/tools", "what reads Go source is large"},
	{".", "github.com/spf13/cobra", "programs link no command line"},
	{".", "cel.dev", "programs link expressions if they import package rules"},
	{"./store/sqlite", "cel.dev", "programs link expressions if they import package rules"},
	{"./store/postgres", "cel.dev", "programs link expressions if they import package rules"},
	{"./endpoint", "cel.dev", "who verifies what a server sends evaluates no filters"},
}

// TestLinked asks the go command what is linked.
func TestLinked(t *testing.T) {
	t.Parallel()
	for _, u := range unlinked {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", u.of)
		list.Dir = "../.."
		var stderr bytes.Buffer
		list.Stderr = &stderr
		out, err := list.Output()
		if err != nil {
			t.Fatalf("go list: %v\n%s", err, stderr.String())
		}
		deps := strings.Fields(string(out))
		if len(deps) < 20 {
			t.Fatalf("%s is said to link only %q", u.of, deps)
		}
		for _, dep := range deps {
			if hasPathPrefix(dep, u.prefix) {
				t.Errorf("%s links %s: %s", u.of, dep, u.why)
			}
		}
	}
}
