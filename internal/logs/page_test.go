package logs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/logs/logstest"
)

// speakers are the packages below internal that log.
var speakers = []string{"commit", "engine", "hookqueue", "logs", "replay", "scheduler", "subprocess", "supervise"}

// said is a log line in the source.
type said struct {
	message, level string // level "": it varies
	at             string
}

// TestThePageListsAllLines: the page has all lines with their levels, and no others; their keys are
// the constants, and the page explains all of them.
func TestThePageListsAllLines(t *testing.T) {
	p := logstest.ReadPage(t)
	files := token.NewFileSet()
	var lines []said
	keys := map[string]bool{}
	names, err := filepath.Glob("../*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || !slices.Contains(speakers, filepath.Base(filepath.Dir(name))) {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if line, ok := sayingOf(n); ok {
					line.at = files.Position(n.Pos()).String()
					lines = append(lines, line)
					wantKeys(t, files, n)
				}
				wantKey(t, files, n)
			case *ast.ValueSpec:
				if ident := n.Names[0].Name; strings.HasPrefix(ident, "Key") && len(n.Values) == 1 {
					keys[textOf(n.Values[0])] = true
				}
			}
			return true
		})
	}
	found := map[string]bool{}
	for _, line := range lines {
		found[line.message] = true
		switch level := p.Levels[line.message]; {
		case level == "":
			t.Errorf("%s: docs/logging.md does not list %q", line.at, line.message)
		case line.level != "" && level != line.level:
			t.Errorf("%s: docs/logging.md lists %q at %s, and not at %s", line.at, line.message, level, line.level)
		}
	}
	for message := range p.Levels {
		if !found[message] {
			t.Errorf("docs/logging.md lists %q, which nobody says", message)
		}
	}
	if have, want := slices.Sorted(maps.Keys(p.Known)), slices.Sorted(maps.Keys(keys)); !slices.Equal(have, want) || len(keys) < 20 {
		t.Errorf("docs/logging.md explains the keys %q, and not %q", have, want)
	}
	for message, keys := range p.Keys {
		for key := range keys {
			if key != "job…" && !p.Known[key] {
				t.Errorf("docs/logging.md does not explain %s of %q", key, message)
			}
		}
	}
}

// sayingOf returns the line that a call logs, if any.
func sayingOf(call *ast.CallExpr) (line said, ok bool) {
	name, of := selectorOf(call)
	of = strings.ToLower(of) // a field that is exported, too
	message := 0
	switch {
	case of == "log" && slices.Contains([]string{"Debug", "Info", "Warn", "Error"}, name):
		line.level = strings.ToUpper(name)
	case of == "lines" && (name == "Say" || name == "SayLater"):
		line.level, message = levelOf(call.Args[0]), 2
	case of == "host" && name == "Say":
		line.level, message = levelOf(call.Args[0]), 1
	case (of == "log" || of == "lines") && name == "LogAttrs":
		line.level, message = levelOf(call.Args[1]), 2
	default:
		return line, false
	}
	line.message = textOf(call.Args[message])
	return line, line.message != ""
}

// selectorOf returns the name of a called method, and the last name of its receiver.
func selectorOf(call *ast.CallExpr) (name, of string) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	switch x := method.X.(type) {
	case *ast.Ident:
		of = x.Name
	case *ast.SelectorExpr:
		of = x.Sel.Name
	}
	return method.Sel.Name, of
}

// levelOf returns a level constant.
func levelOf(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		return strings.ToUpper(strings.TrimPrefix(s.Sel.Name, "Level"))
	}
	return ""
}

// textOf returns a string constant, "" for any other expression.
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err != nil {
			return ""
		}
		return text
	case *ast.BinaryExpr:
		return textOf(e.X) + textOf(e.Y)
	}
	return ""
}

// wantKeys checks the keys of a line's attributes.
func wantKeys(t *testing.T, files *token.FileSet, call *ast.CallExpr) {
	t.Helper()
	name, _ := selectorOf(call)
	if name == "Say" || name == "SayLater" || name == "LogAttrs" || call.Ellipsis.IsValid() {
		return
	}
	for i := 1; i < len(call.Args); i += 2 {
		if !isKey(call.Args[i]) {
			t.Errorf("%s: a key that is none of the constants", files.Position(call.Args[i].Pos()))
		}
	}
}

// wantKey checks the key of an attribute.
func wantKey(t *testing.T, files *token.FileSet, call *ast.CallExpr) {
	t.Helper()
	name, of := selectorOf(call)
	if of != "slog" || !slices.Contains([]string{"String", "Int", "Int64", "Any", "Time", "Duration", "Bool", "Float64", "Group"}, name) {
		return
	}
	if !isKey(call.Args[0]) {
		t.Errorf("%s: a key that is none of the constants", files.Position(call.Pos()))
	}
}

// isKey reports whether an expression is one of the constants.
func isKey(e ast.Expr) bool {
	if s, ok := e.(*ast.SelectorExpr); ok {
		e = s.Sel
	}
	ident, ok := e.(*ast.Ident)
	return ok && strings.HasPrefix(ident.Name, "Key")
}
