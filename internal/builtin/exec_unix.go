//go:build unix

package builtin

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// errNotExecutable is what starting a file that is no program fails with.
var errNotExecutable error = syscall.ENOEXEC

// group is the process group of a command: the command and what it starts, so that a shell's children stop with it. It is not the
// worker's group, so that Ctrl-C in a terminal reaches the worker alone, which then decides when its commands stop.
type group struct{ cmd *exec.Cmd }

// newGroup prepares a command that has not started.
func newGroup(cmd *exec.Cmd) group {
	cmd.SysProcAttr = groupAttributes()
	return group{cmd}
}

// terminate asks the group to stop.
func (g group) terminate() error { return g.signal(syscall.SIGTERM) }

// kill ends the group, if any of it is left. A process that makes itself the leader of another group escapes, as daemons do.
func (g group) kill() { _ = g.signal(syscall.SIGKILL) }

func (g group) signal(s syscall.Signal) error {
	// The number of a group is not used again while one process is in it.
	err := syscall.Kill(-g.cmd.Process.Pid, s)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
