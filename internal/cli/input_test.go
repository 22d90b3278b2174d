//go:build unix

package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
)

// TestInterruptAtFIFO: Ctrl-C works while a FIFO without a writer is opened.
func TestInterruptAtFIFO(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	path := filepath.Join(s.dir, "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	opened := make(chan error, 1)
	go func() {
		_, err := arg.OpenInput(ctx, "--file", path)
		opened <- err
	}()
	cancel(app.ErrInterrupted)
	if err := <-opened; !errors.Is(err, app.ErrInterrupted) {
		t.Errorf("opening: %v", err)
	}

	writer, err := os.OpenFile(path, os.O_WRONLY, 0) // ends the goroutine that was left behind
	if err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
}
