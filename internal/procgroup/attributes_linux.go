package procgroup

import "syscall"

// groupAttributes put a command into a process group of its own, and make the kernel kill it if the
// worker is killed: its job is retried elsewhere then and should not run twice at a time. Processes
// that the command has started are not killed.
func groupAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
