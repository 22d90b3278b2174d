package terms_test

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// dialect are words about people where a comment means a caller, a transaction, a process or a run. A reader who searches for
// those does not find them.
var dialect = regexp.MustCompile(`(?i)\b(anew|he|his|nobody|somebody|whoever)\b`)

// TestCommentsArePlain checks the comments of programs, not those of tests.
func TestCommentsArePlain(t *testing.T) {
	t.Parallel()
	files := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "bench" || entry.Name() == "terms"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files++
		for line, comment := range commentsOf(t, path) {
			if word := dialect.FindString(comment); word != "" {
				t.Errorf("%s:%d: %q: name the caller, the transaction, the process or the run", path, line, word)
			}
		}
		return nil
	})
	if err != nil || files < 300 {
		t.Fatalf("%d files, %v", files, err)
	}
	if dialect.FindString("// whoever waits") == "" || dialect.FindString("// the caller that waits") != "" {
		t.Error("the words are not recognized")
	}
}

// commentsOf returns the line comments of a file by their lines.
func commentsOf(t *testing.T, file string) map[int]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	comments := map[int]string{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if _, comment, ok := strings.Cut(lines.Text(), "//"); ok {
			comments[n] = comment
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return comments
}
