package sqlite

import (
	"context"
	"errors"
	"os"
)

// Drop removes the file with all jobs in it, and what lies beside it. It is for files that were made to try something out. No
// store may have it open.
func (c Config) Drop(context.Context) error {
	c, err := c.withDefaults()
	if err != nil || c.Path == Memory {
		return err
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal", ".nodes"} {
		err = errors.Join(err, os.RemoveAll(c.Path+suffix))
	}
	return err
}
