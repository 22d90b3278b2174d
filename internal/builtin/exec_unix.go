//go:build unix

package builtin

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// errNotExecutable is the error of starting a file that is no program.
var errNotExecutable error = syscall.ENOEXEC

// group is the process group of a command, so that its children stop with it. It is not the
// worker's group, so that Ctrl-C in a terminal reaches only the worker, which decides when its
// commands stop.
type group struct{ cmd *exec.Cmd }

// newGroup prepares a command that has not started.
func newGroup(cmd *exec.Cmd) group {
	cmd.SysProcAttr = groupAttributes()
	return group{cmd}
}

// terminate sends SIGTERM to the group.
func (g group) terminate() error { return g.signal(syscall.SIGTERM) }

// kill sends SIGKILL to the group. A process that makes itself the leader of another group escapes,
// as daemons do.
func (g group) kill() { _ = g.signal(syscall.SIGKILL) }

func (g group) signal(s syscall.Signal) error {
	// A group id is not reused while a process is in the group.
	err := syscall.Kill(-g.cmd.Process.Pid, s)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
