package main

import "syscall"

// inMemory tells whether a directory is not on a disk at all, where a flush costs nothing and
// figures mean nothing.
func inMemory(dir string) bool {
	const tmpfs, ramfs = 0x01021994, 0x858458f6
	var info syscall.Statfs_t
	if err := syscall.Statfs(dir, &info); err != nil {
		return false
	}
	return uint32(info.Type) == tmpfs || uint32(info.Type) == ramfs
}
