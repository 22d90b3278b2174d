//go:build unix

package scratch

import (
	"errors"
	"io"
	"os/exec"
	"syscall"
)

// guard starts the watchdog. It reads from a pipe of ours, which ends when we do; then it ends the
// server whose data are in the directory, and removes it, if it is still there. It has a process
// group of its own: an interrupt from the terminal is ours.
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
