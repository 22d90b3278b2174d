//go:build unix && !linux

package procgroup

import "syscall"

// groupAttributes put a command into a process group of its own.
func groupAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
