//go:build !unix

package db

import (
	"fmt"
	"io/fs"
	"os"
)

// DeniesWrites tells why this process may not write a file that is there, as far as the file's mode
// says it.
func DeniesWrites(path string) error {
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o200 == 0 {
		return fmt.Errorf("%s cannot be written: %w", path, os.ErrPermission)
	}
	return nil
}

// writable tells why a database at path cannot be written.
func writable(path string) error { return DeniesWrites(path) }

func isOurs(fs.FileInfo) bool { return false }

func shareLike(string, fs.FileInfo, fs.FileMode) error { return nil }
