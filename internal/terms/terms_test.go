package terms_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

// unwanted are the words of the last column of docs/terms.md, each with the term to say instead.
func unwanted(t *testing.T) map[*regexp.Regexp]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs/terms.md"))
	if err != nil {
		t.Fatal(err)
	}
	words := map[*regexp.Regexp]string{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 || strings.HasPrefix(cells[0], "--") || strings.TrimSpace(cells[0]) == "term" {
			continue
		}
		for word := range strings.SplitSeq(cells[2], ",") {
			if word = strings.TrimSpace(word); word != "" {
				words[regexp.MustCompile(`(?i)\b`+regexp.QuoteMeta(word)+`s?\b`)] = strings.TrimSpace(cells[0])
			}
		}
	}
	if len(words) < 30 {
		t.Fatalf("docs/terms.md has %d words that are not said", len(words))
	}
	return words
}

// code is what pages quote of programs.
var code = regexp.MustCompile("(?s)```.*?```|`[^`]*`")

func TestPagesSayOneWord(t *testing.T) {
	t.Parallel()
	words := unwanted(t)
	pages, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, filepath.Join(root, "README.md"))
	for _, page := range pages {
		if filepath.Base(page) == "terms.md" {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		prose := code.ReplaceAllStringFunc(string(text), func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) })
		for word, instead := range words {
			for _, at := range word.FindAllStringIndex(prose, -1) {
				t.Errorf("%s:%d says %q; the term is %q", page, 1+strings.Count(prose[:at[0]], "\n"), prose[at[0]:at[1]], instead)
			}
		}
	}
}

// TestProgramsSayOneWord looks at what is written in programs for people: every text with a space in it, which is help, errors
// and logs.
func TestProgramsSayOneWord(t *testing.T) {
	t.Parallel()
	words := unwanted(t)
	looked := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "bench" || strings.HasPrefix(d.Name(), ".") && path != root):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil || !strings.Contains(text, " ") {
				return true
			}
			looked++
			for word, instead := range words {
				if said := word.FindString(text); said != "" {
					t.Errorf("%s says %q; the term is %q", fset.Position(lit.Pos()), said, instead)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if looked < 500 {
		t.Fatalf("only %d texts were looked at", looked)
	}
}
