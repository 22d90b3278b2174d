package vet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// Finding is a mistake in a durable function.
type Finding struct {
	File    string `json:"file"` // relative to Params.Dir if it is below that
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// Params selects what to check.
type Params struct {
	Dir      string   // a directory of the module; absolute
	Patterns []string // package patterns of the go command, relative to Dir
	Tests    bool     // check test files too
}

// Packages checks packages and returns the findings in the order of their positions. It needs the
// go command, and packages that compile.
func Packages(ctx context.Context, p Params) ([]Finding, error) {
	config := &packages.Config{
		Context: ctx,
		Dir:     p.Dir,
		Tests:   p.Tests,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes |
			packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedModule,
	}
	loaded, err := packages.Load(config, p.Patterns...)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		if _, missing := exec.LookPath("go"); missing != nil {
			return nil, errors.New("the go command is not in the PATH; install Go or correct the PATH")
		}
		return nil, fmt.Errorf("loading packages: %w", err)
	}
	if len(loaded) == 0 {
		return nil, fmt.Errorf("no packages match %s", strings.Join(p.Patterns, " "))
	}
	if err := broken(loaded); err != nil {
		return nil, err
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{Analyzer}, loaded, nil)
	if err != nil {
		return nil, err
	}
	var findings []Finding
	for _, action := range graph.Roots {
		if action.Err != nil {
			return nil, fmt.Errorf("checking %s: %w", action.Package, action.Err)
		}
		for _, d := range action.Diagnostics {
			at := action.Package.Fset.Position(d.Pos)
			findings = append(findings, Finding{below(p.Dir, at.Filename), at.Line, at.Column, d.Message})
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column, cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(findings), nil // a package and its test variant have the same findings
}

// broken returns an error if packages do not compile.
func broken(loaded []*packages.Package) error {
	var placed, others []packages.Error
	packages.Visit(loaded, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			if e.Kind == packages.ListError {
				others = append(others, e) // of the go command, which may repeat errors of the source
			} else {
				placed = append(placed, e)
			}
		}
	})
	switch all := slices.Concat(placed, others); {
	case len(all) == 0:
		return nil
	case len(placed) > 1:
		return fmt.Errorf("%w (and more: %d errors in all)", all[0], len(placed))
	case len(placed) == 0:
		return errors.New(all[0].Msg) // it has no position
	default:
		return all[0]
	}
}

// below makes a path relative to a directory if it is below it.
func below(dir, file string) string {
	if rel, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return file
}
