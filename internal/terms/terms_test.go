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

// term is a row of docs/terms.md: the names of a thing, and what others call it.
type term struct{ names, elsewhere []string }

// glossary returns the rows of docs/terms.md.
func glossary(t *testing.T) (terms []term) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs/terms.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 || strings.HasPrefix(cells[0], "--") || strings.TrimSpace(cells[0]) == "term" {
			continue
		}
		terms = append(terms, term{listed(cells[0]), listed(cells[2])})
	}
	if len(terms) < 80 {
		t.Fatalf("docs/terms.md has %d terms", len(terms))
	}
	return terms
}

// listed splits a cell at its commas.
func listed(cell string) (words []string) {
	for word := range strings.SplitSeq(cell, ",") {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}

// unwanted is a word of the last column of docs/terms.md that is not in italics, with the term to
// say instead.
type unwanted struct {
	lower, instead string
	pattern        *regexp.Regexp
}

func unwantedWords(t *testing.T) (words []unwanted) {
	t.Helper()
	for _, row := range glossary(t) {
		for _, word := range row.elsewhere {
			if !strings.HasPrefix(word, "*") {
				pattern := regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(word) + `s?\b`)
				words = append(words, unwanted{strings.ToLower(word), row.names[0], pattern})
			}
		}
	}
	return words
}

// find calls report with the place of each unwanted word. A plain search comes first, because it is
// much faster.
func find(words []unwanted, text string, report func(at []int, instead string)) {
	lower := strings.ToLower(text)
	for _, word := range words {
		if strings.Contains(lower, word.lower) {
			for _, at := range word.pattern.FindAllStringIndex(text, -1) {
				report(at, word.instead)
			}
		}
	}
}

// TestTermsOccur looks for each term, in any form, in the programs, the statements and the other
// pages.
func TestTermsOccur(t *testing.T) {
	t.Parallel()
	missing := map[string]*regexp.Regexp{}
	for _, row := range glossary(t) {
		for _, name := range row.names {
			pattern := strings.NewReplacer(" ", "[- ]?", "-", "[- ]?").Replace(regexp.QuoteMeta(name))
			missing[name] = regexp.MustCompile(`(?i)` + strings.TrimSuffix(pattern, "e"))
		}
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "bench" || strings.HasPrefix(d.Name(), ".") && path != root):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".sql") && filepath.Dir(path) != filepath.Join(root, "docs"),
			strings.HasSuffix(path, "_test.go"), d.IsDir(), d.Name() == "terms.md":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for name, pattern := range missing {
			if pattern.Match(text) {
				delete(missing, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range missing {
		t.Errorf("docs/terms.md explains %q, which nothing says", name)
	}
}

// code matches quoted code in pages.
var code = regexp.MustCompile("(?s)```.*?```|`[^`]*`")

func TestPagesSayOneWord(t *testing.T) {
	t.Parallel()
	words := unwantedWords(t)
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
		find(words, prose, func(at []int, instead string) {
			t.Errorf("%s:%d says %q; the term is %q", page, 1+strings.Count(prose[:at[0]], "\n"), prose[at[0]:at[1]], instead)
		})
	}
}

// TestProgramsSayOneWord checks the texts of programs: every string with a space in it, which is
// help, errors and logs.
func TestProgramsSayOneWord(t *testing.T) {
	t.Parallel()
	words := unwantedWords(t)
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
			find(words, text, func(at []int, instead string) {
				t.Errorf("%s says %q; the term is %q", fset.Position(lit.Pos()), text[at[0]:at[1]], instead)
			})
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
