//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// writable tells why a database at path cannot be written: the file and its directory, where SQLite keeps the log, must be.
func writable(path string) error {
	if err := unix.Access(path, unix.W_OK); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s cannot be written: %w", path, err)
	}
	if err := unix.Access(filepath.Dir(path), unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("the directory of %s cannot be written: %w", path, err)
	}
	return nil
}
