package layers_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// size is what a package costs whoever wants to hold it in the head. Tests and generated files do
// not count.
type size struct {
	files, lines int
	arrows, up   int // uses of one file's declarations by another: one for each pair of files; and those that run up
	function     int // lines of the longest
	parameters   int // of the function with the most
	statement    int // lines of the longest SQL statement without a walk
}

// budget is what a package may cost. Of the arrows a tenth may run up, and two in any case.
var budget = size{files: 30, lines: 4000, up: 2, function: 60, parameters: 6, statement: 60}

// TestBudgets prints, with -v, what each package costs.
func TestBudgets(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it loads the whole module")
	}
	sizes := measure(t, "../..")
	t.Logf("%-28s %5s %6s %7s %4s %9s %7s %10s", "package", "files", "lines", "arrows", "up", "function", "params", "statement")
	for _, pkg := range slices.Sorted(maps.Keys(sizes)) {
		s := sizes[pkg]
		t.Logf("%-28s %5d %6d %7d %4d %9d %7d %10d", pkg, s.files, s.lines, s.arrows, s.up, s.function, s.parameters, s.statement)
		for _, over := range s.over(budget) {
			t.Errorf("%s is over budget: %s", pkg, over)
		}
	}
}

// over tells what of the size is more than may be.
func (s size) over(b size) (what []string) {
	for _, c := range []struct {
		name       string
		have, most int
	}{
		{"files", s.files, b.files},
		{"lines", s.lines, b.lines},
		{"lines in a function", s.function, b.function},
		{"parameters of a function", s.parameters, b.parameters},
		{"lines in a statement", s.statement, b.statement},
		{"uses that run up", s.up, max(s.arrows/10, b.up)},
	} {
		if c.have > c.most {
			what = append(what, fmt.Sprintf("%d %s, of at most %d", c.have, c.name, c.most))
		}
	}
	return what
}

// measure measures the packages of the module, without examples.
func measure(t *testing.T, root string) map[string]size {
	t.Helper()
	config := &packages.Config{
		Dir:  root,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports,
	}
	loaded, err := packages.Load(config, "./...")
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]size{}
	for _, p := range loaded {
		pkg, ours := ownPackage(p.PkgPath)
		if !ours || strings.HasPrefix(pkg, "examples/") {
			continue
		}
		for _, e := range p.Errors {
			t.Error(e)
		}
		sizes[pkg] = measurePackage(t, p)
	}
	return sizes
}

func measurePackage(t *testing.T, p *packages.Package) (s size) {
	t.Helper()
	uses := map[string]map[string]bool{}
	dir := ""
	for _, file := range p.Syntax {
		name := p.Fset.Position(file.Pos()).Filename
		if ast.IsGenerated(file) {
			continue
		}
		dir = filepath.Dir(name)
		s.files++
		s.lines += p.Fset.File(file.Pos()).LineCount()
		uses[name] = map[string]bool{}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Body != nil {
					s.function = max(s.function, p.Fset.Position(n.Body.Rbrace).Line-p.Fset.Position(n.Pos()).Line+1)
				}
				s.parameters = max(s.parameters, n.Type.Params.NumFields())
			case *ast.Ident:
				if at := declaredIn(p, n); at != "" && at != name {
					uses[name][at] = true
				}
			}
			return true
		})
	}
	all, up := arrows(uses)
	s.arrows, s.up = all, len(up)
	if s.up > max(all/10, budget.up) {
		t.Logf("%s, upwards: %s", p.PkgPath, strings.Join(up, ", "))
	}
	queries, err := filepath.Glob(filepath.Join(dir, "sql", "*.sql"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range queries {
		s.statement = max(s.statement, longestStatement(t, file))
	}
	return s
}

// declaredIn is the file of the package that declares what an identifier names: a type, a constant,
// a variable, a function or a method.
func declaredIn(p *packages.Package, id *ast.Ident) string {
	o := p.TypesInfo.Uses[id]
	if o == nil || o.Pkg() != p.Types || o.Pos() == token.NoPos {
		return ""
	}
	if _, isFunc := o.(*types.Func); !isFunc && o.Parent() != p.Types.Scope() {
		return "" // a field, or of a function
	}
	return p.Fset.Position(o.Pos()).Filename
}

// arrows counts the uses between files, and lists those that run up if the files stand above what
// they use, as far as that can be. Where files use each other the order is that of the greedy
// heuristic of Eades, Lin and Smyth (A fast and effective heuristic for the feedback arc set
// problem, 1993).
func arrows(uses map[string]map[string]bool) (all int, up []string) {
	place := map[string]int{}
	for i, file := range ordered(uses) {
		place[file] = i
	}
	for from, those := range uses {
		for to := range those {
			if all++; place[to] < place[from] {
				up = append(up, filepath.Base(from)+" > "+filepath.Base(to))
			}
		}
	}
	slices.Sort(up)
	return all, up
}

// ordered lists the files from the top floor down.
func ordered(uses map[string]map[string]bool) []string {
	left := map[string]bool{}
	for file := range uses {
		left[file] = true
	}
	degree := func(file string) (out, in int) {
		for other := range left {
			if uses[file][other] {
				out++
			}
			if uses[other][file] {
				in++
			}
		}
		return out, in
	}
	var top, bottom []string
	for len(left) > 0 {
		best, most, sink := "", 0, ""
		for _, file := range slices.Sorted(maps.Keys(left)) {
			out, in := degree(file)
			if out == 0 {
				sink = file
				break
			}
			if in == 0 {
				out += len(uses) // a source goes before all others
			}
			if best == "" || out-in > most {
				best, most = file, out-in
			}
		}
		if sink != "" {
			bottom = append(bottom, sink)
			delete(left, sink)
			continue
		}
		top = append(top, best)
		delete(left, best)
	}
	slices.Reverse(bottom)
	return append(top, bottom...)
}

// longestStatement is how many lines the longest statement of a file has, without comments. Those
// that have a walk do not count: comments between the name and the statement, "-- walk: held: locks
// the records", which tell of every part of its WITH by name, in order.
func longestStatement(t *testing.T, name string) (longest int) {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i, statement := range strings.Split(string(content), "\n-- name:") {
		if lines := unwalked(statement); i > 0 && lines > longest {
			longest = lines
		}
	}
	return longest
}

// sqlPart begins a part of a WITH.
var sqlPart = regexp.MustCompile(`(?:^WITH |^WITH RECURSIVE |^\), )(\w+) AS `)

// unwalked is how many lines a statement has, or 0 if a walk leads through it.
func unwalked(statement string) (lines int) {
	walk, left := []string{}, false
	for line := range strings.Lines(statement) {
		part := sqlPart.FindStringSubmatch(line)
		line = strings.TrimSpace(line)
		text, isWalk := strings.CutPrefix(line, "-- walk: ")
		switch {
		case isWalk:
			names, _, isHead := strings.Cut(text, ":")
			if isHead && !strings.HasPrefix(text, " ") {
				walk = append(walk, strings.Split(names, ", ")...)
			}
		case part != nil:
			at := slices.Index(walk, part[1])
			if left = left || at < 0; at >= 0 {
				walk = walk[at+1:]
			}
			lines++
		case line != "" && !strings.HasPrefix(line, "--"):
			lines++
		}
	}
	if !left && strings.Contains(statement, "\n-- walk: ") {
		return 0
	}
	return lines
}

// TestBudgetsBite shows that what is too large is found, and which uses run up.
func TestBudgetsBite(t *testing.T) {
	t.Parallel()
	if over := (size{files: 31, lines: 4001, arrows: 20, up: 3, function: 61, parameters: 7, statement: 61}).over(budget); len(over) != 6 {
		t.Errorf("over budget: %q", over)
	}
	if over := (size{files: 30, lines: 4000, arrows: 20, up: 2, function: 60, parameters: 6, statement: 60}).over(budget); len(over) != 0 {
		t.Errorf("within budget: %q", over)
	}
	for walk, want := range map[string]int{
		"": 4, "-- walk: First this.\n": 4, "-- walk: a: one\n": 4, "-- walk: b: two\n-- walk: a: one\n": 4,
		"-- walk: a: one\n-- walk:   b: two\n": 4, "-- walk: a: one\n-- walk: b: two\n": 0, "-- walk: Does it.\n-- walk: a, b: both\n": 0,
	} {
		lines := unwalked(" s\n" + walk + "WITH a AS (\n  SELECT 1\n), b AS MATERIALIZED (SELECT 2)\nSELECT 3;\n")
		if lines != want+min(want, 1) {
			t.Errorf("with the walk %q the statement has %d lines", walk, lines)
		}
	}
	uses := func(pairs ...string) map[string]map[string]bool {
		graph := map[string]map[string]bool{}
		for _, pair := range pairs {
			from, to, _ := strings.Cut(pair, ">")
			for _, file := range []string{from, to} {
				if graph[file] == nil {
					graph[file] = map[string]bool{}
				}
			}
			graph[from][to] = true
		}
		return graph
	}
	for _, c := range []struct {
		graph   map[string]map[string]bool
		all, up int
	}{
		{uses("a>b", "b>c", "a>c", "c>d"), 4, 0},
		{uses("a>b", "b>a"), 2, 1},
		{uses("a>b", "b>c", "c>a", "a>d", "d>b"), 5, 1},
	} {
		if all, up := arrows(c.graph); all != c.all || len(up) != c.up {
			t.Errorf("%v: %d arrows, up %q; want %d, %d", c.graph, all, up, c.all, c.up)
		}
	}
}
