//go:build unix

package cluster

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// unprivileged returns what makes a command run as a user who may run a server, and gives that user
// the directory: the server refuses to run as root. The command gets a process group of its own, so
// that an interrupt from the terminal is ours.
func unprivileged(dir string) (func(*exec.Cmd), error) {
	if os.Geteuid() != 0 {
		return func(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }, nil
	}
	account, err := user.Lookup(superuser)
	if err != nil {
		account, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, errors.New("there is no user to run the server as: neither postgres nor nobody")
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	if err := os.Chown(dir, int(uid), int(gid)); err != nil {
		return nil, err
	}
	return func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Setpgid: true, Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)},
		}
		cmd.Env = append(os.Environ(), "HOME="+dir)
	}, nil
}
