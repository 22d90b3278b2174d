package layers_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// walkRow is a row of a walk through the code.
type walkRow struct {
	file      string
	functions []string // in the order in which they are called
	calledBy  string   // as the page says it
	does      string
}

// walkedFile is what the walks may name of a Go file.
type walkedFile struct {
	mentions map[string]map[string]bool // of each function, by name: the identifiers in its body
	names    map[string]bool            // all identifiers
	literals map[string]bool            // all "strings"
}

var (
	quoted = regexp.MustCompile("`([^`]+)`")
	walked = regexp.MustCompile("^\\| `([^`]+\\.go)` \\|([^|]*)\\|([^|]*)\\|([^|]*)\\|$")
)

// TestWalks checks the walks through the code in docs/architecture.md.
func TestWalks(t *testing.T) {
	t.Parallel()
	tree := os.DirFS("../..")
	page, err := fs.ReadFile(tree, "docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	walks := walksOf(string(page))
	if len(walks) != 3 {
		t.Fatalf("there are %d walks, want 3", len(walks))
	}
	for _, walk := range walks {
		if len(walk) < 10 {
			t.Errorf("the walk to %s has %d rows", walk[len(walk)-1].file, len(walk))
		}
		for _, mistake := range mistakesIn(tree, walk) {
			t.Error(mistake)
		}
	}
}

// walksOf returns the rows of each walk on a page. A row that cannot be read has all of its line as
// its file.
func walksOf(page string) (walks [][]walkRow) {
	_, section, _ := strings.Cut(page, "## Three walks\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		switch {
		case strings.HasPrefix(line, "| in |"):
			walks = append(walks, nil)
		case strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "|---") && len(walks) > 0:
			row := walkRow{file: line}
			if parts := walked.FindStringSubmatch(strings.TrimSpace(line)); parts != nil {
				row = walkRow{parts[1], quotedIn(parts[2]), strings.TrimSpace(parts[3]), parts[4]}
			}
			last := len(walks) - 1
			walks[last] = append(walks[last], row)
		}
	}
	return walks
}

func quotedIn(text string) (words []string) {
	for _, word := range quoted.FindAllStringSubmatch(text, -1) {
		words = append(words, word[1])
	}
	return words
}

// mistakesIn returns a sentence for each thing that a walk says and that is not so:
//
//   - the file declares the functions of its row;
//   - the first of them is called by the first name of the next column, a function of a row above,
//     whose body mentions it and all other names of that column. A callback, and what is woken,
//     need not be mentioned. Only the first row of a walk may have a caller without a name;
//   - each other function is mentioned by one before it in its row;
//   - of the words of the last column a statement of SQL is a string of the file, and anything else
//     an identifier in it.
func mistakesIn(tree fs.FS, walk []walkRow) (mistakes []string) {
	wrong := func(format string, args ...any) { mistakes = append(mistakes, fmt.Sprintf(format, args...)) }
	files := map[string]*walkedFile{}
	for i, row := range walk {
		if files[row.file] == nil {
			file, err := readWalked(tree, row.file)
			if err != nil {
				wrong("%v", err)
				return mistakes
			}
			files[row.file] = file
		}
		file := files[row.file]
		for j, name := range row.functions {
			if file.mentions[name] == nil {
				wrong("%s has no function %s", row.file, name)
			} else if j > 0 && !slices.ContainsFunc(row.functions[:j], func(f string) bool { return file.mentions[f][name] }) {
				wrong("%s: none of %v calls %s", row.file, row.functions[:j], name)
			}
		}
		if len(row.functions) == 0 {
			wrong("a row of %s names no function", row.file)
		} else if by := quotedIn(row.calledBy); len(by) > 0 || i > 0 {
			if !isCalled(row, walk[:i], files) {
				wrong("%s: %s is not called by %q", row.file, row.functions[0], row.calledBy)
			}
		}
		for _, word := range quotedIn(row.does) {
			if !file.has(tree, row.file, word) {
				wrong("%s has no %s, or does not use it if it is a statement", row.file, word)
			}
		}
	}
	return mistakes
}

// isCalled reports whether a row above calls the first function of a row, as the row says.
func isCalled(row walkRow, above []walkRow, files map[string]*walkedFile) bool {
	by := quotedIn(row.calledBy)
	if len(by) == 0 {
		return false
	}
	others := by[1:]
	if !strings.Contains(row.calledBy, "callback") && !strings.Contains(row.calledBy, "wakes") {
		others = append(others, row.functions[0])
	}
	if len(others) == 0 {
		return false
	}
	return slices.ContainsFunc(above, func(from walkRow) bool {
		one, other := storeOf(from.file), storeOf(row.file)
		if !slices.Contains(from.functions, by[0]) || one != "" && other != "" && one != other {
			return false
		}
		for _, name := range others {
			if !files[from.file].mentions[by[0]][name] {
				return false
			}
		}
		return true
	})
}

// storeOf is where the SQL of the store is that a file belongs to, or "".
func storeOf(file string) string {
	switch {
	case strings.HasPrefix(file, "store/sqlite/"):
		return "store/sqlite/internal/db/sql"
	case strings.HasPrefix(file, "store/postgres/"):
		return "store/postgres/internal/pg/sql"
	}
	return ""
}

// has reports whether the file uses a statement of that name, or if there is none an identifier.
func (f *walkedFile) has(tree fs.FS, file, word string) bool {
	if store := storeOf(file); store != "" {
		texts, err := fs.Glob(tree, store+"/*.sql")
		if err != nil {
			return false
		}
		for _, text := range texts {
			if sql, err := fs.ReadFile(tree, text); err != nil || strings.Contains("\n"+string(sql), "\n-- name: "+word+"\n") {
				return err == nil && f.literals[word]
			}
		}
	}
	for name := range strings.SplitSeq(word, ".") {
		if !f.names[name] {
			return false
		}
	}
	return true
}

func readWalked(tree fs.FS, name string) (*walkedFile, error) {
	source, err := fs.ReadFile(tree, name)
	if err != nil {
		return nil, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), name, source, 0)
	if err != nil {
		return nil, err
	}
	f := &walkedFile{mentions: map[string]map[string]bool{}, names: map[string]bool{}, literals: map[string]bool{}}
	var unreadable error
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			f.names[n.Name] = true
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				text, err := strconv.Unquote(n.Value)
				unreadable = errors.Join(unreadable, err)
				f.literals[text] = true
			}
		case *ast.FuncDecl:
			if f.mentions[n.Name.Name] == nil {
				f.mentions[n.Name.Name] = map[string]bool{}
			}
			if n.Body != nil {
				mention(n.Body, f.mentions[n.Name.Name])
			}
		}
		return true
	})
	return f, unreadable
}

// mention adds the identifiers in a body.
func mention(body ast.Node, names map[string]bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			names[id.Name] = true
		}
		return true
	})
}

// TestWalksBite shows which mistakes of a walk are found.
func TestWalksBite(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{
		"a.go": {Data: []byte("package a\nfunc (t *T) One() { two(); t.store.Write() }\nfunc two() { send(line) }\nfunc loop() { <-line }\n")},
		"store/sqlite/w.go": {Data: []byte(
			"package w\nfunc Write() { fence(\"row_insert\", \"Write\"); t.After() }\nfunc fence(...string) { Other() } // row_delete\n")},
		"store/postgres/w.go":                     {Data: []byte("package w\nfunc Write() {}\nfunc Other() {}\n")},
		"store/sqlite/internal/db/sql/w.sql":      {Data: []byte("-- name: row_insert\nx;\n-- name: row_delete\nx;\n-- name: fence\nx;\n")},
		"store/postgres/internal/pg/sql/rows.sql": {Data: []byte("-- A comment.\n")},
	}
	first := "| `a.go` | `One`, `two` | a goroutine | starts |\n"
	write := "| `store/sqlite/w.go` | `Write` | `One`, when `two` has returned | writes |\n"
	for rows, want := range map[string]int{
		first + write: 0,
		first + "| `store/sqlite/w.go` | `Write`, `fence` | `One` | `row_insert`, by `After` of `t` or `t.After` |\n": 0,
		first + "| `store/postgres/w.go` | `Write` | `One` | writes |\n":                                              0,
		first + "| `a.go` | `loop` | a goroutine that `two` wakes by `line` | goes on |\n":                            0,
		first + write + "| `a.go` | `loop` | `Write`, as the callback `After` | goes on |\n":                          0,

		"| `b.go` | `One` | a goroutine | starts |\n":                                         1, // no such file
		"| `a.go` | `One` | starts |\n":                                                       1, // no such row
		"| `a.go` | `Three` | a goroutine | starts |\n":                                       1, // no such function
		"| `a.go` | | a goroutine | starts |\n":                                               1,
		"| `a.go` | `two`, `One` | a goroutine | starts |\n":                                  1, // in the wrong order
		"| `a.go` | `One` | `two` | starts |\n":                                               1, // its caller is not above
		first + "| `a.go` | `loop` | `two` | goes on |\n":                                     1, // it does not
		first + "| `a.go` | `loop` | a goroutine | goes on |\n":                               1, // which
		first + "| `a.go` | `loop` | a goroutine that `two` wakes | goes on |\n":              1, // by what
		first + "| `a.go` | `loop` | a goroutine that `two` wakes by `lane` | goes on |\n":    1,
		first + "| `store/sqlite/w.go` | `Write` | `One`, when `loop` has returned | x |\n":   1,
		first + write + "| `a.go` | `loop` | `Write`, as the callback `Before` | goes on |\n": 1,
		first + "| `store/sqlite/w.go` | `Write` | `One` | `row_delete` |\n":                  1, // only a comment has it
		first + "| `store/sqlite/w.go` | `Write` | `One` | `fence` |\n":                       1, // the function, not the statement
		first + "| `store/sqlite/w.go` | `Write` | `One` | `row` |\n":                         1,
		first + "| `store/sqlite/w.go` | `Write` | `One` | `w.Missing` |\n":                   1,
		first + "| `store/postgres/w.go` | `Write` | `One` | `row_insert` |\n":                1,
		first + write + "| `store/sqlite/w.go` | `fence` | `Write` | x |\n" +
			"| `store/postgres/w.go` | `Other` | `fence` | x |\n": 1, // from one store to the other
	} {
		walks := walksOf("## Three walks\n\nText.\n\n| in | functions | called by | does |\n|---|---|---|---|\n" + rows + "\n## More\n" + first)
		if len(walks) != 1 || len(walks[0]) != strings.Count(rows, "\n") {
			t.Errorf("the walks of\n%sare %v", rows, walks)
			continue
		}
		if found := mistakesIn(tree, walks[0]); len(found) != want {
			t.Errorf("the walk\n%shas the mistakes %q, want %d", rows, found, want)
		}
	}
}
