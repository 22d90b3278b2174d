//go:build unix

package cluster

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// unprivileged returns what makes a command run as a user who may run a server, and gives that user the directory: the
// server refuses to run as root. The command gets a process group of its own, so that an interrupt from the terminal is ours.
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

// guard starts the watchdog. It reads from a pipe of ours, which ends when we do; then it ends the server and removes its files,
// if they are still there.
func guard(dir string) (io.Closer, error) {
	const script = `cat >/dev/null
for i in 1 2 3 4 5; do
	[ -d "$0" ] || exit 0
	pid=$(head -n 1 "$0/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid" 2>/dev/null
	sleep 1
	rm -rf "$0" 2>/dev/null
done`
	cmd := exec.Command("/bin/sh", "-c", script, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return watchdog{pipe, cmd}, nil
}

type watchdog struct {
	io.Closer
	cmd *exec.Cmd
}

func (w watchdog) Close() error { return errors.Join(w.Closer.Close(), w.cmd.Wait()) }
