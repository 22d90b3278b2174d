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
	arrows, up   int      // pairs of files of which one uses what the other declares; and those that run up
	upwards      []string // those that run up, see arrows
	function     int      // lines of the longest
	parameters   int      // of the function with the most
	statement    int      // lines of the longest SQL statement
	unwalked     int      // of the longest without a walk
}

// budget is what a package may cost. Of the arrows a tenth may run up, and two in any case. A
// statement may be longer if it has a walk.
var budget = size{files: 30, lines: 4000, up: 2, function: 60, parameters: 6, unwalked: 60}

// publicBudget is that of the packages that users read: the root, in which the methods of its types
// have to be, and the contract of stores, with all that they tell, and what remains of what is
// gone, the form of what a codec has encoded, who may come in, what is sent where, and what
// requests were answered. Their types name each other: a client makes jobs, and a job knows its
// client.
var publicBudget = size{files: 63, lines: 10140, up: 20, function: 60, parameters: 6, unwalked: 60}

// modelBudget is that of the model, which does in memory all that the contract says, and of the
// machine, which asks at random for all of it.
var modelBudget = size{files: 40, lines: 6300, up: 10, function: 60, parameters: 6, unwalked: 60}

func budgetOf(pkg string) size {
	switch pkg {
	case ".", "store":
		return publicBudget
	case "store/postgres/internal/write": // which has all that one batch may do
		wide := budget
		wide.lines = 4200
		return wide
	case "store/storetest/env": // which has words for whatever a store does
		wide := budget
		wide.files = 32
		return wide
	case "store/postgres/internal/operate": // which has whatever people, the clock and classes of retention do to jobs
		wide := budget
		wide.lines = 4850
		return wide
	case "internal/engine": // which begins and ends whatever a node does, tells of it, holds what it cannot read, and writes for others
		wide := budget
		wide.lines, wide.files = 4850, 34
		return wide
	case "internal/cli/views": // which has a form for whatever people are shown
		wide := budget
		wide.files = 31
		return wide
	case "internal/cli/jobs": // which has a verb for whatever can be done to jobs
		wide := budget
		wide.lines = 4250
		return wide
	case "store/storetest/model", "store/storetest/machine":
		return modelBudget
	}
	return budget
}

// legend explains the table that TestBudgets prints.
const legend = `what each package costs:
	arrows:    pairs of files of which one uses what the other declares
	up:        those of them that run up, in an order of the files that a heuristic chooses so that they are
	           few. It is a good order, not always the best, and not a declared one.
	function:  lines of the longest function; params: parameters of the function with the most
	statement: lines of the longest SQL statement; unwalked: of the longest without a walk`

// TestBudgets prints, with -v, what each package costs, and which pairs of files run up.
func TestBudgets(t *testing.T) {
	t.Parallel()
	sizes := measure(t, "../..")
	t.Log(legend)
	t.Logf("%-35s %5s %6s %7s %4s %9s %7s %10s %9s",
		"package", "files", "lines", "arrows", "up", "function", "params", "statement", "unwalked")
	for _, pkg := range slices.Sorted(maps.Keys(sizes)) {
		s := sizes[pkg]
		t.Logf("%-35s %5d %6d %7d %4d %9d %7d %10d %9d",
			pkg, s.files, s.lines, s.arrows, s.up, s.function, s.parameters, s.statement, s.unwalked)
		if s.up > 0 {
			t.Logf("    up: %s", strings.Join(s.upwards, ", "))
		}
		for _, over := range s.over(budgetOf(pkg)) {
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
		{"lines in a statement without a walk", s.unwalked, b.unwalked},
		{"pairs of files that run up", s.up, max(s.arrows/10, b.up)},
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
	s.arrows, s.upwards = arrows(uses)
	s.up = len(s.upwards)
	queries, err := filepath.Glob(filepath.Join(dir, "sql", "*.sql"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range queries {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range statementsOf(string(content)) {
			lines, walked := length(statement)
			if s.statement = max(s.statement, lines); !walked {
				s.unwalked = max(s.unwalked, lines)
			}
		}
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

// arrows counts the pairs of files of which one uses the other, however often, and lists those that
// run up if the files stand above what they use, as far as that can be. Where files use each other
// the order is that of the greedy heuristic of Eades, Lin and Smyth (A fast and effective heuristic
// for the feedback arc set problem, 1993). So the list is short, but it need not be the shortest,
// and another order may have other pairs: what it tells is how far a package is from having an
// order, not which use is wrong.
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

// blockStart begins a statement, or a fragment of one.
var blockStart = regexp.MustCompile(`(?m)^-- (?:name|fragment):`)

// statementsOf splits a file into its statements. What stands before the first is a comment.
func statementsOf(file string) []string {
	starts := blockStart.FindAllStringIndex(file, -1)
	statements := make([]string, len(starts))
	for i, start := range starts {
		end := len(file)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		statements[i] = file[start[0]:end]
	}
	return statements
}

// sqlPart is the beginning of a part of a WITH, with its columns if it names them.
var sqlPart = regexp.MustCompile(`(\w+)(?:\s*\([\w\s,]*\))?\s+AS\s+(?:(?:NOT\s+)?MATERIALIZED\s+)?\(`)

// sentence is the end of one.
var sentence = regexp.MustCompile(`\.(?:\s|$)`)

// linesPerSentence is how many lines of a statement a sentence of its walk may be about.
const linesPerSentence = 20

// length is how many lines a statement has, without comments and empty ones, and whether a walk
// leads through it. A walk is the comments "-- walk: …" above the statement. It tells of every part
// of the statement's WITHs by name, in their order ("-- walk: held: locks the records"), and it has
// at least a sentence for every twenty lines, so that a statement without parts is told as well.
func length(statement string) (lines int, walked bool) {
	var names []string // that the walk tells of
	var walk, code strings.Builder
	for line := range strings.Lines(statement) {
		if text, isWalk := strings.CutPrefix(line, "-- walk: "); isWalk {
			walk.WriteString(text)
			if head, _, isHead := strings.Cut(text, ":"); isHead && !strings.HasPrefix(text, " ") {
				names = append(names, strings.Split(head, ", ")...)
			}
			continue
		}
		line, _, _ = strings.Cut(line, "--")
		if strings.TrimSpace(line) != "" {
			lines++
			code.WriteString(line + "\n")
		}
	}
	for _, part := range sqlPart.FindAllStringSubmatch(code.String(), -1) {
		at := slices.Index(names, part[1])
		if at < 0 {
			return lines, false
		}
		names = names[at+1:]
	}
	sentences := len(sentence.FindAllString(walk.String(), -1))
	return lines, sentences > 0 && sentences*linesPerSentence >= lines
}

// TestWalksOfStatements shows which walks lead through a statement.
func TestWalksOfStatements(t *testing.T) {
	t.Parallel()
	parts := "WITH a AS (\n  SELECT 1\n\n), b AS MATERIALIZED (SELECT 2) -- c AS (\nSELECT 3;\n"
	columns := "WITH RECURSIVE a (x, y) AS (\n  SELECT 1\n), b (\n  z\n) AS NOT MATERIALIZED (SELECT 2)\nSELECT 3;\n"
	long := "SELECT\n" + strings.Repeat("  x,\n", 98) + "FROM t, unnest(@a) AS u (x);\n"
	for _, c := range []struct {
		walk, code string
		lines      int
		walked     bool
	}{
		{"", parts, 4, false},
		{"-- walk: First this.\n", parts, 4, false},
		{"-- walk: a: one.\n", parts, 4, false},
		{"-- walk: b: two.\n-- walk: a: one.\n", parts, 4, false},
		{"-- walk: a: one.\n-- walk:   b: two.\n", parts, 4, false},
		{"-- walk: a: one\n-- walk: b: two\n", parts, 4, false},
		{"-- walk: a: one.\n-- walk: b: two.\n", parts, 4, true},
		{"-- walk: Does it.\n-- walk: a, b: both\n", parts, 4, true},
		{"-- walk: It selects.\n", columns, 6, false},
		{"-- walk: a: one.\n", columns, 6, false},
		{"-- walk: a, b: both.\n", columns, 6, true},
		{"", long, 100, false},
		{"-- walk: It selects.\n", long, 100, false},
		{"-- walk: " + strings.Repeat("It selects. ", 4) + "\n", long, 100, false},
		{"-- walk: " + strings.Repeat("It selects. ", 5) + "\n", long, 100, true},
	} {
		lines, walked := length("-- name: s\n-- It is one.\n" + c.walk + c.code)
		if lines != c.lines || walked != c.walked {
			t.Errorf("with the walk %q a statement has %d lines and is walked: %t; want %d, %t:\n%s",
				c.walk, lines, walked, c.lines, c.walked, c.code)
		}
	}
	for file, want := range map[string]int{
		"": 0, "-- A comment.\n": 0, "-- name: a\nSELECT 1;\n": 1, "-- name: a\nSELECT 1;\n-- name: b\nSELECT 2;\n": 2,
		"-- A comment.\n\n-- name: a\nSELECT 1;\n\n-- fragment: b\nx = 1\n": 2,
	} {
		if got := statementsOf(file); len(got) != want {
			t.Errorf("%q has the statements %q, want %d", file, got, want)
		}
	}
}

// TestBudgetsBite shows that what is too large is found, and which uses run up.
func TestBudgetsBite(t *testing.T) {
	t.Parallel()
	many := size{files: 31, lines: 4001, arrows: 20, up: 3, function: 61, parameters: 7, unwalked: 61}
	if over := many.over(budget); len(over) != 6 {
		t.Errorf("over budget: %q", over)
	}
	few := size{files: 30, lines: 4000, arrows: 20, up: 2, function: 60, parameters: 6, statement: 900, unwalked: 60}
	if over := few.over(budget); len(over) != 0 {
		t.Errorf("within budget: %q", over)
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
