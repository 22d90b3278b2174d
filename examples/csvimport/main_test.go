package main

import (
	"os"
	"path/filepath"
	"testing"
)

// path is where the file of an import is.
func (o options) path() string {
	path, err := fileOf(o.dir, o.rows, o.seed)
	if err != nil {
		panic(err)
	}
	return path
}

func (o options) text(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(o.path())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// replace puts another file in the place of the generated one.
func (o options) replace(t *testing.T, text string) {
	t.Helper()
	temp := filepath.Join(t.TempDir(), "new")
	if err := os.WriteFile(temp, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temp, o.path()); err != nil {
		t.Fatal(err)
	}
}
