//go:build unix

package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Freeze stops the process where it is, as a machine does that is out of breath. Kill works on a
// frozen process too. It returns when all threads stand still: on a busy machine one may end a
// system call after the signal was sent, and hold a lock of a database then.
func (p *Process) Freeze() error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for end := time.Now().Add(10 * time.Second); moves(p.cmd.Process.Pid) && time.Now().Before(end); {
		time.Sleep(time.Millisecond) //nolint:forbidigo // /proc tells who asks; a wait for the stop would race with who reaps
	}
	return nil
}

// moves reports whether a thread of a process is not stopped yet, where the system tells.
func moves(pid int) bool {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		_, after, _ := bytes.Cut(stat, []byte(") "))
		if len(after) > 0 && after[0] != 'T' && after[0] != 'Z' && after[0] != 'X' {
			return true
		}
	}
	return false
}

// Thaw lets a frozen process go on.
func (p *Process) Thaw() error { return p.cmd.Process.Signal(syscall.SIGCONT) }
