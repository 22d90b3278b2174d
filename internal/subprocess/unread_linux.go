package subprocess

import (
	"os"

	"golang.org/x/sys/unix"
)

// unread is how many bytes in a pipe were not read, by its end for writing; 0: it is not known.
func unread(pipe *os.File) int {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0
	}
	n := 0
	err = raw.Control(func(fd uintptr) {
		if in, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ); err == nil {
			n = in
		}
	})
	if err != nil {
		return 0
	}
	return n
}
