package crashtest

import (
	"path/filepath"
	"testing"
)

func newSQLite(t *testing.T) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "holdfast.db")
}
