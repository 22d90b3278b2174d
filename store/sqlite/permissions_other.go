//go:build !unix

package sqlite

import (
	"fmt"
	"os"
)

// writable tells why a database at path cannot be written, as far as the file's mode says it.
func writable(path string) error {
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o200 == 0 {
		return fmt.Errorf("%s cannot be written: %w", path, os.ErrPermission)
	}
	return nil
}
