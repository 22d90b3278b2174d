// Package sqlitetest provides SQLite databases for tests.
//
// To make the tables takes longer than most tests do, so that it happens once for a test binary,
// and each test gets a copy.
package sqlitetest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"github.com/holdfastdev/holdfast/store/sqlite"
)

// File returns the path of a database that is the test's own. It has the tables, and nothing in
// them.
func File(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "holdfast.db")
	Create(tb, path)
	return path
}

// Create makes such a database at a path.
func Create(tb testing.TB, path string) {
	tb.Helper()
	content, err := fresh()
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		tb.Fatalf("create the database %s: %v", path, err)
	}
}

// identity is where a database says which one it is.
var identity = regexp.MustCompile(`database_id([0-9a-f]{32})`)

// fresh returns the content of a database, which has an identity of its own.
func fresh() ([]byte, error) {
	first, err := migrated()
	if err != nil {
		return nil, err
	}
	found := identity.FindAllSubmatchIndex(first, -1)
	if len(found) != 1 {
		return nil, fmt.Errorf("the file of a new database says %d times which one it is", len(found)) //nolint:err113 // of a test
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	content := append([]byte(nil), first...)
	hex.Encode(content[found[0][2]:found[0][3]], id[:])
	return content, nil
}

// migrated is the content of the first database.
var migrated = sync.OnceValues(func() (content []byte, err error) {
	dir, err := os.MkdirTemp("", "sqlitetest-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "holdfast.db")
	s, err := sqlite.File(path).Open(context.Background())
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
