//go:build unix

package pgtest

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// unprivileged returns a function that makes a command run as a user who may run a server, and
// gives that user the directory. PostgreSQL refuses to run as root.
func unprivileged(dir string) (func(*exec.Cmd), error) {
	if os.Geteuid() != 0 {
		return func(*exec.Cmd) {}, nil
	}
	var account *user.User
	for _, name := range []string{"postgres", "nobody"} {
		if found, err := user.Lookup(name); err == nil {
			account = found
			break
		}
	}
	if account == nil {
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
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		cmd.Env = append(os.Environ(), "HOME="+dir)
	}, nil
}

// guard starts the watchdog: when its pipe ends, because it was closed or because this process has
// died, it stops the server and removes the directory, if they exist. It is in a process group of
// its own, so that an interrupt from the terminal does not reach it.
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
	return closer{pipe, cmd}, nil
}

type closer struct {
	io.Closer
	cmd *exec.Cmd
}

func (c closer) Close() error {
	if err := c.Closer.Close(); err != nil {
		return err
	}
	return c.cmd.Wait()
}

// ownerOf is the name of the user to whom a file belongs.
func ownerOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	system, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", errNotUnix
	}
	owner, err := user.LookupId(strconv.FormatUint(uint64(system.Uid), 10))
	if err != nil {
		return "", err
	}
	return owner.Username, nil
}

// forget clears shared memory away once no process has it any more. It is empty but for a note who
// has it.
func forget(id int) {
	if id != 0 {
		_ = exec.Command("ipcrm", "-m", strconv.Itoa(id)).Run() // or it stays, as after a crash
	}
}
