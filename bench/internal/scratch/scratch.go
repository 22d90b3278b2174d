// Package scratch makes directories that are gone when the program has ended, however that came
// about, and with them the database server that was started in one.
package scratch

import (
	"errors"
	"io"
	"os"
)

// Dir is such a directory.
type Dir struct {
	Path     string
	watchdog io.Closer
}

// New makes one below another, or below that of temporary files if parent is "".
func New(parent string) (*Dir, error) {
	path, err := os.MkdirTemp(parent, "holdfast-bench-")
	if err != nil {
		return nil, err
	}
	d := &Dir{Path: path}
	if d.watchdog, err = guard(path); err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return d, nil
}

// Close removes the directory.
func (d *Dir) Close() error { return errors.Join(os.RemoveAll(d.Path), d.watchdog.Close()) }
