//go:build unix

package main

import "golang.org/x/sys/unix"

// room is how many bytes are free in a folder; 0 if it is not there.
func room(dir string) uint64 {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0
	}
	return stat.Bavail * uint64(stat.Bsize)
}
