//go:build unix

package procgroup

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestGroup checks the signal itself.
func TestGroup(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "1000")
	g := New(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if pgid, err := syscall.Getpgid(cmd.Process.Pid); err != nil || pgid != cmd.Process.Pid {
		t.Errorf("its group is %d (%v), its number %d", pgid, err, cmd.Process.Pid)
	}
	g.Kill()
	if err := cmd.Wait(); err == nil {
		t.Error("it was not killed")
	}
	if err := g.Terminate(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("a group that is gone: %v", err)
	}
}
