package builtin

import "syscall"

// groupAttributes put a command into a group of its own, and let the kernel kill it if the worker is killed: its job runs again
// elsewhere then, and should not run twice at a time. That reaches the command, not what it has started.
func groupAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
