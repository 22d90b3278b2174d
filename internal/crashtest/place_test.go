package crashtest

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"

	"github.com/holdfastdev/holdfast/internal/crashtest/process"
)

// worker is a place for a process. When one is killed the next takes its place.
type worker struct {
	*process.Process
	name   string // of the process that is there now
	lives  int
	killed bool
}

// ended is an error if the process is no more and nobody killed it.
func (w *worker) ended() error {
	if w.Process == nil || w.killed {
		return nil
	}
	select {
	case <-w.Done():
		return errors.Join(fmt.Errorf("worker %s ended by itself", w.name), w.Wait())
	default:
		return nil
	}
}

// kill ends the process. The error is that of ended; on Unix the process's status tells if it was
// only about to end.
func (w *worker) kill() error {
	if err := w.ended(); w.Process == nil || w.killed || err != nil {
		return err
	}
	w.killed = true
	w.Kill()
	exit, ok := errors.AsType[*exec.ExitError](w.Wait())
	if signalled := ok && exit.ExitCode() < 0; !signalled && runtime.GOOS != "windows" {
		return errors.Join(fmt.Errorf("worker %s ended by itself", w.name), w.Wait())
	}
	return nil
}
