package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Synchronous says when a commit is on the disk.
type Synchronous uint8

// Config is an SQLite file and how to use it. It is a store.Source.
type Config struct {
	// Path of the file, which is created if its directory exists; or Memory. It is a path, not a
	// URI.
	Path string
	// Synchronous is Full by default.
	Synchronous Synchronous
	// Poll is how often Watch looks for writes of other processes and of callers' transactions
	// while there are none; for a while after it has seen one, up to ten times as often. Default:
	// 20 ms. On Linux they are told of, and looked for at once, and each second. Negative: never;
	// then nodes have to poll, and Traits tells them to.
	Poll time.Duration
	// Readers is how many reads may run at once. Default: 4.
	Readers int
	// NoMigrate makes Open fail with store.ErrSchema instead of bringing the schema up to date.
	NoMigrate bool
	// Clock is the time of everything in the store. Default: time.Now. All processes that share a
	// file should agree on it.
	Clock func() time.Time

	later *store.Migration // one more than this program has, of tests
}

const (
	// Full syncs every commit: what was acknowledged survives a power loss. It is the default.
	Full Synchronous = iota
	// Normal syncs now and then: after a power loss the last commits may be missing, but the file
	// is consistent. A crash of the program, even by kill -9, loses nothing. Commits are about ten
	// times cheaper.
	Normal
)

// Memory is the path of a database that lives as long as its Store and belongs to it alone: for
// tests and demonstrations. It is a temporary file, so that it behaves like any other database.
const Memory = ":memory:"

// withDefaults completes the configuration. The path becomes absolute: the program may change its
// directory.
func (c Config) withDefaults() (Config, error) {
	if c.Poll == 0 {
		c.Poll = 20 * time.Millisecond
	}
	if c.Readers <= 0 {
		c.Readers = 4
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Path == Memory {
		return c, nil
	}
	if c.Path == "" {
		return c, fmt.Errorf("%w: the path of the database is empty", store.ErrInvalid)
	}
	path, err := filepath.Abs(c.Path)
	if err != nil {
		return c, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	c.Path = path
	if dir, err := os.Stat(filepath.Dir(path)); err != nil || !dir.IsDir() {
		return c, fmt.Errorf("%w: the directory of %s does not exist; create it, or correct the path", store.ErrInvalid, path)
	}
	if file, err := os.Stat(path); err == nil && !file.Mode().IsRegular() {
		return c, fmt.Errorf("%w: %s is not a regular file", store.ErrInvalid, path)
	}
	return c, nil
}

// Drop removes the file with all jobs in it, and what lies beside it. It is for files that were
// made to try something out. No store may have it open.
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
