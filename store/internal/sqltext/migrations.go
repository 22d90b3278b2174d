package sqltext

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

// Migrations reads the steps of a schema in order: the files of a directory, which are named
// NNNN_name.sql from 0001 on and are never changed once released.
func Migrations(files fs.FS, dir string) ([]store.Migration, error) {
	paths, err := fs.Glob(files, path.Join(dir, "*.sql")) // sorted
	if err != nil {
		return nil, err
	}
	steps := make([]store.Migration, 0, len(paths))
	for i, file := range paths {
		digits, name, _ := strings.Cut(strings.TrimSuffix(path.Base(file), ".sql"), "_")
		version, err := strconv.Atoi(digits)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("migration out of order: %s", file)
		}
		text, err := fs.ReadFile(files, file)
		if err != nil {
			return nil, err
		}
		steps = append(steps, store.Migration{Version: version, Name: name, SQL: string(text)})
	}
	return steps, nil
}
