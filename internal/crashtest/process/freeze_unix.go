//go:build unix

package process

import "syscall"

// Freeze stops the process where it is, as a machine does that is out of breath. Kill works on a
// frozen process too.
func (p *Process) Freeze() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw lets a frozen process go on.
func (p *Process) Thaw() error { return p.cmd.Process.Signal(syscall.SIGCONT) }
