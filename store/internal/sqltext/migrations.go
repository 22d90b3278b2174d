package sqltext

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
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

// Made returns the names of what migrations create: of what follows a text such as "CREATE TABLE ",
// up to the end of the name, each once. What a later one renames or drops is named, too.
func Made(migrations []store.Migration, create string) (names []string) {
	name := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(create) + `(\w+)`)
	for _, m := range migrations {
		for _, found := range name.FindAllStringSubmatch(m.SQL, -1) {
			if !slices.Contains(names, found[1]) {
				names = append(names, found[1])
			}
		}
	}
	return names
}
