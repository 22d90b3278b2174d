package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

// Dir keeps files in a directory, which is made if it is not there. A file is written under a name
// that begins with a dot, synced, and renamed; then its directory is synced. What a process that
// died has left under such a name is no archive, and may be deleted.
func Dir(path string) Store { return dir(path) }

type dir string

// Create implements Store.
func (d dir) Create(ctx context.Context, name string) (File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return nil, fmt.Errorf("%w: %q is not a name in the archive", store.ErrInvalid, name)
	}
	path := filepath.Join(string(d), filepath.FromSlash(name))
	if err := makeDirs(filepath.Dir(path)); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &file{File: f, path: path}, nil
}

// makeDirs makes a directory and those above it, each durable in the one above.
func makeDirs(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	above := filepath.Dir(path)
	if above != path {
		if err := makeDirs(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(above)
}

// file is one that has not got its name yet.
type file struct {
	*os.File

	path  string
	ended bool
}

// Close implements File.
func (f *file) Close() error {
	if f.ended {
		return os.ErrClosed
	}
	err := f.Sync()
	if err == nil {
		err = f.File.Close()
	}
	if err != nil {
		return errors.Join(err, f.Abort())
	}
	if err := os.Rename(f.Name(), f.path); err != nil {
		return errors.Join(err, f.Abort())
	}
	f.ended = true
	return syncDir(filepath.Dir(f.path))
}

// Abort implements File.
func (f *file) Abort() error {
	if f.ended {
		return nil
	}
	f.ended = true
	_ = f.File.Close() // it may be closed
	return os.Remove(f.Name())
}

// Files lists the files of an archive in a directory, by their names: in the order of time.
func Files(path string) (files []string, err error) {
	return files, filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".jsonl.gz") && !strings.HasPrefix(d.Name(), ".") {
			files = append(files, path)
		}
		return err
	})
}
