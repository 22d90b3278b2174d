package main

import (
	"context"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast"
)

// receiver finds the T in T, *T and *T[P].
var receiver = regexp.MustCompile(`\w+`)

// library is the source of the standard library.
var library = os.DirFS(filepath.Join(goroot(), "src"))

// goroot is where Go is: a program that was built with -trimpath has to ask.
func goroot() string {
	if root := build.Default.GOROOT; root != "" {
		return root
	}
	root, err := exec.CommandContext(context.Background(), "go", "env", "GOROOT").Output()
	if err != nil {
		log.Fatalf("where the source of the standard library is cannot be told: %v; set GOROOT", err)
	}
	return strings.TrimSpace(string(root))
}

// Exports is what a package exports on any platform, by what it is: const, var, func, type or
// method (as Type.Method).
type Exports struct {
	Package string              `json:"package"`
	Counts  map[string]int      `json:"counts"`
	Names   map[string][]string `json:"names"`
}

// packagesOf lists the packages in a source tree, but for commands, vendored ones and test data.
func packagesOf(src fs.FS) (paths []string, err error) {
	err = fs.WalkDir(src, ".", func(name string, entry fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case entry.IsDir() && (base == "testdata" || base == "vendor" || name == "cmd" || base[0] == '_'):
			return fs.SkipDir
		case isSource(base) && path.Dir(name) != ".":
			paths = append(paths, path.Dir(name))
		}
		return nil
	})
	slices.Sort(paths)
	return slices.Compact(paths), err
}

func isSource(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
}

// exportsOf is the work of a job.
func exportsOf(src fs.FS, pkg string) (Exports, error) {
	e := Exports{Package: pkg, Counts: map[string]int{}, Names: map[string][]string{}}
	files, err := fs.ReadDir(src, pkg)
	if err != nil {
		return e, err // an error has the job retried after a while
	}
	for _, file := range files {
		if !isSource(file.Name()) {
			continue
		}
		text, err := fs.ReadFile(src, path.Join(pkg, file.Name()))
		if err != nil {
			return e, err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), text, parser.SkipObjectResolution)
		if err != nil {
			return e, holdfast.Fail(err) // and this one has it given up: what does not parse today will not tomorrow
		}
		if parsed.Name.Name != "main" { // those are generators
			for _, decl := range parsed.Decls {
				e.add(decl)
			}
		}
	}
	for what, names := range e.Names {
		slices.Sort(names)
		e.Names[what] = slices.Compact(names) // files for several platforms repeat themselves
		e.Counts[what] = len(e.Names[what])
	}
	return e, nil
}

func (e *Exports) add(decl ast.Decl) {
	add := func(what, prefix string, name *ast.Ident) {
		if name.IsExported() {
			e.Names[what] = append(e.Names[what], prefix+name.Name)
		}
	}
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv == nil {
			add("func", "", decl.Name)
		} else if of := receiver.FindString(types.ExprString(decl.Recv.List[0].Type)); ast.IsExported(of) {
			add("method", of+".", decl.Name)
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				add("type", "", spec.Name)
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					add(decl.Tok.String(), "", name) // const or var
				}
			}
		}
	}
}
