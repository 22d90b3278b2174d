package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clean reports whether the tree is what its last commit has.
func clean(ctx context.Context) bool {
	changes, err := output(ctx, "git", "status", "--porcelain")
	return err == nil && changes == ""
}

// testedFile is where the commit is noted that has passed as a whole.
func testedFile(ctx context.Context) (string, error) {
	return output(ctx, "git", "rev-parse", "--git-path", "tested")
}

// noteTested notes that a commit has passed.
func noteTested(ctx context.Context, commit string) error {
	file, err := testedFile(ctx)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(commit+"\n"), 0o644)
}

// tested says whether the tree is a commit that has passed.
func tested(ctx context.Context) error {
	head, err := output(ctx, "git", "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	file, err := testedFile(ctx)
	if err != nil {
		return err
	}
	noted, _ := os.ReadFile(file) // none has passed if there is none
	switch {
	case strings.TrimSpace(string(noted)) != head:
		fmt.Printf("%.12s was not tested as a whole\n", head)
		return errFailed
	case !clean(ctx):
		fmt.Printf("%.12s has passed, and was changed since\n", head)
		return errFailed
	}
	fmt.Printf("%.12s has passed\n", head)
	return nil
}

// stamp gives all files and folders of a clean tree times that follow from their contents. The go
// command takes a test's result from its cache only if the files that the test has opened have the
// size and the time that they had: so a clone finds the results of another one, and a file of other
// contents has another time.
func stamp(ctx context.Context) error {
	if !clean(ctx) {
		return nil
	}
	listed, err := output(ctx, "git", "ls-tree", "-r", "-t", "--full-tree", "HEAD")
	if err != nil {
		return err
	}
	for line := range strings.Lines(listed) {
		description, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		fields := strings.Fields(description)
		if len(fields) != 3 || strings.HasPrefix(path, `"`) {
			continue
		}
		seconds, err := strconv.ParseInt(fields[2][:7], 16, 64)
		if err != nil {
			return err
		}
		when := time.Unix(1_000_000_000+seconds, 0)
		if err := os.Chtimes(filepath.FromSlash(path), when, when); err != nil {
			return err
		}
	}
	return nil
}
