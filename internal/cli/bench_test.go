package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// TestBenchInterrupted: Ctrl-C leaves nothing behind.
func TestBenchInterrupted(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	stderr := &buffer{}
	var stdout bytes.Buffer
	signals := make(chan os.Signal)
	env := s.environment(strings.NewReader(""), io.Writer(&stdout), stderr, "bench", "--seconds", "600")
	env.Signals = signals
	ended := make(chan int, 1)
	go func() { ended <- Run(t.Context(), env) }()
	until(t, "the first scenario", func() bool { return strings.Contains(stderr.String(), "one by one") })
	signals <- os.Interrupt
	if code := <-ended; code != app.ExitInterrupted || !strings.Contains(stderr.String(), "holdfast: interrupted") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if found, err := filepath.Glob(filepath.Join(s.dir, "*")); err != nil || len(found) > 0 {
		t.Errorf("it left %v, %v", found, err)
	}
}
