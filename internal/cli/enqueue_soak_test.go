//go:build soak

package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// TestEnqueueWhoseReaderGoes: it stops after the batch of which it could not tell, and says how far
// it came.
func TestEnqueueWhoseReaderGoes(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	stdout, stdin := io.Pipe()
	_ = stdout.Close()
	for done, args := range [][]string{{"-o", "jsonl"}, {"-q"}} {
		var stderr bytes.Buffer
		args := append([]string{"job", "enqueue", "mail", "--file", "-"}, args...)
		env := s.environment(strings.NewReader(strings.Repeat("{}\n", 2500)), stdin, &stderr, args...)
		outlived := false
		env.OutlivePipes = func() { outlived = true }
		code := Run(t.Context(), env)
		s.expect(outcome{code, "", stderr.String()}, app.ExitError,
			"holdfast: writing the output: io: read/write on closed pipe; the lines up to 1000 were enqueued, later lines were not\n")
		if n := s.count(); n != 1000*(done+1) || !outlived {
			t.Errorf("%d jobs are there, outlived: %t", n, outlived)
		}
	}
}
