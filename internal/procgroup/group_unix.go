//go:build unix

package procgroup

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// ErrNotExecutable is the error of starting a file that is no program.
var ErrNotExecutable error = syscall.ENOEXEC

// Group is the process group of a command, so that its children stop with it. It is not the
// worker's group, so that Ctrl-C in a terminal reaches only the worker, which decides when its
// commands stop.
type Group struct{ cmd *exec.Cmd }

// New prepares a command that has not started.
func New(cmd *exec.Cmd) Group {
	cmd.SysProcAttr = groupAttributes()
	return Group{cmd}
}

// Terminate sends SIGTERM to the group.
func (g Group) Terminate() error { return g.signal(syscall.SIGTERM) }

// Kill sends SIGKILL to the group. A process that makes itself the leader of another group escapes,
// as daemons do.
func (g Group) Kill() { _ = g.signal(syscall.SIGKILL) }

func (g Group) signal(s syscall.Signal) error {
	// A group id is not reused while a process is in the group.
	err := syscall.Kill(-g.cmd.Process.Pid, s)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
