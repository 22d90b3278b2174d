package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// checkFormat fails if gofmt would change a file.
func checkFormat(ctx context.Context) error {
	files, err := goFiles(ctx)
	if err != nil {
		return err
	}
	wrong, err := output(ctx, "gofmt", append([]string{"-l"}, files...)...)
	if err != nil {
		return err
	}
	if wrong != "" {
		fmt.Printf("not formatted (gofmt -w):\n%s\n", wrong)
		return errFailed
	}
	return nil
}

// goFiles are the files of Go that git knows or would take.
func goFiles(ctx context.Context) ([]string, error) {
	listed, err := output(ctx, "git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(strings.Fields(listed), func(file string) bool {
		_, gone := os.Lstat(file)
		return gone != nil
	}), nil
}

// nested are the modules beside the main one.
var nested = []string{"bench", "bench/riversqlite", "web/build"}

// vet builds and vets the first tier and the soak, without cgo, which the library promises not to
// need.
func vet(ctx context.Context) error {
	env := []string{"CGO_ENABLED=0"}
	err := errors.Join(show(ctx, "", env, "go", "build", "./..."), show(ctx, "", env, "go", "vet", "-tags=soak", "./..."))
	for _, dir := range nested {
		err = errors.Join(err, show(ctx, dir, env, "go", "vet", "./..."))
	}
	return err
}

// lint runs the linter on the packages that changed since the main branch of origin, or, where
// that is the tree itself, in the last commit.
func lint(ctx context.Context) error {
	changed, err := changedFiles(ctx)
	if err != nil {
		fmt.Printf("the whole tree, since git does not say what changed: %v\n", err)
		return show(ctx, "", nil, "./scripts/lint")
	}
	dirs := map[string][]string{}
	for _, file := range changed {
		dir := filepath.Dir(file)
		if _, gone := os.Stat(file); gone != nil || !strings.HasSuffix(file, ".go") || strings.Contains(file, "testdata/") {
			continue
		}
		inside := "."
		for _, n := range nested {
			if strings.HasPrefix(file, n+"/") {
				inside = n
			}
		}
		below, err := filepath.Rel(inside, dir)
		if err != nil {
			return err
		}
		dirs[inside] = append(dirs[inside], "./"+below)
	}
	for inside, packages := range dirs {
		slices.Sort(packages)
		packages = slices.Compact(packages)
		fmt.Printf("%d packages of module %s\n", len(packages), inside)
		script, err := filepath.Rel(inside, "scripts/lint")
		if err != nil {
			return err
		}
		if err := show(ctx, inside, nil, script, packages...); err != nil {
			return errors.Join(errFailed, err)
		}
	}
	return nil
}

// changedFiles are the files that differ from the main branch of origin, or else from the commit
// before this one, and those that git does not know yet.
func changedFiles(ctx context.Context) ([]string, error) {
	base, err := output(ctx, "git", "merge-base", "origin/main", "HEAD")
	head, headErr := output(ctx, "git", "rev-parse", "HEAD")
	if headErr != nil {
		return nil, headErr
	}
	if err != nil || base == head {
		base = "HEAD~1"
	}
	changed, err := output(ctx, "git", "diff", "--name-only", base)
	if err != nil {
		return nil, err
	}
	others, err := output(ctx, "git", "ls-files", "--others", "--exclude-standard")
	return strings.Fields(changed + "\n" + others), err
}
