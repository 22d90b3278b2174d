//go:build unix

package sqlite_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// asNobody makes a command run without root's rights.
func asNobody(_ *testing.T, command *exec.Cmd) {
	if os.Geteuid() == 0 {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
}
