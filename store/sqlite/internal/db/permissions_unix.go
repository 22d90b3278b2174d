//go:build unix

package db

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// DeniesWrites tells why this process may not write a file that is there.
func DeniesWrites(path string) error {
	err := unix.Access(path, unix.W_OK)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("%s%s cannot be written: %w", path, ownerOf(path), err)
}

// writable tells why a database at path cannot be written: the file, its directory, where SQLite
// keeps the log, and the log and its index must be.
func writable(path string) error {
	if err := DeniesWrites(path); err != nil {
		return err
	}
	file := path
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		file = resolved
	}
	for _, beside := range []string{"-wal", "-shm"} {
		if err := DeniesWrites(file + beside); err != nil {
			return err
		}
	}
	if err := unix.Access(filepath.Dir(path), unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("the directory of %s cannot be written: %w", path, err)
	}
	return nil
}

// ownerOf names the owner of a file, if that is another user.
func ownerOf(path string) string {
	info, err := os.Stat(path)
	if err != nil || isOurs(info) {
		return ""
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf(", owned by user %d,", stat.Uid)
	}
	return ""
}

func isOurs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// shareLike gives a file or directory beside the database to those who may use the database, as
// SQLite does with the log.
func shareLike(path string, like fs.FileInfo, mode fs.FileMode) error {
	if err := os.Chmod(path, mode); err != nil {
		return err
	}
	if stat, ok := like.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		return os.Lchown(path, int(stat.Uid), int(stat.Gid))
	}
	return nil
}
