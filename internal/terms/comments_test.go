package terms_test

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// dialect are words about people where a comment means a caller, a transaction, a process or a run.
// A reader who searches for those does not find them.
var dialect = regexp.MustCompile(`(?i)\b(anew|he|his|nobody|somebody|whoever)\b`)

// TestCommentsArePlain checks the comments of programs and of their statements, not those of tests
// and of migrations, which stay as they were released.
func TestCommentsArePlain(t *testing.T) {
	t.Parallel()
	files := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "bench", "migrations", "terms"}, entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || strings.HasSuffix(path, "_test.go") || !slices.Contains([]string{".go", ".sql"}, filepath.Ext(path)):
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

// columns is how wide prose may be.
const columns = 100

// TestProseIsNarrow checks the comments that have lines of their own, and the pages outside of
// tables and code.
func TestProseIsNarrow(t *testing.T) {
	t.Parallel()
	narrow := func(path string, line int, prose string) bool {
		width := utf8.RuneCountInString(strings.ReplaceAll(prose, "\t", "    "))
		if width > columns {
			t.Errorf("%s:%d: %d columns of prose, at most %d", path, line, width, columns)
		}
		return width <= columns
	}
	comments, paragraphs := 0, 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (notOurs[entry.Name()] || strings.HasPrefix(entry.Name(), ".") && path != root):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		switch filepath.Ext(path) {
		case ".go", ".sql":
			for line, text := range linesOf(t, path) {
				if ownLine.MatchString(text) && !syntax.MatchString(text) {
					comments++
					narrow(path, line+1, text)
				}
			}
		case ".md":
			inCode := false
			for line, text := range linesOf(t, path) {
				if strings.HasPrefix(strings.TrimSpace(text), "```") {
					inCode = !inCode
				} else if !inCode && !strings.HasPrefix(text, "|") && !strings.HasPrefix(text, "    ") && !strings.HasPrefix(text, "#") {
					paragraphs++
					narrow(path, line+1, text)
				}
			}
		}
		return nil
	})
	if err != nil || comments < 5000 || paragraphs < 1000 {
		t.Fatalf("%d comments, %d lines of pages, %v", comments, paragraphs, err)
	}
}

var notOurs = map[string]bool{"testdata": true, "migrations": true, "node_modules": true}

// ownLine matches a comment with a line of its own whose text can be broken: not code, and not a
// table.
var ownLine = regexp.MustCompile(`^\s*(//|--) [^ \t|]`)

// syntax matches comments that a program reads.
var syntax = regexp.MustCompile(`nolint|-- params:`)

func linesOf(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n")
}

// commentsOf returns the line comments of a file by their lines.
func commentsOf(t *testing.T, file string) map[int]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mark := "//"
	if filepath.Ext(file) == ".sql" {
		mark = "--"
	}
	comments := map[int]string{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if _, comment, ok := strings.Cut(lines.Text(), mark); ok {
			comments[n] = comment
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return comments
}
