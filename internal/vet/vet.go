package vet

import (
	"cmp"
	"go/ast"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// Analyzer reports mistakes in durable functions.
var Analyzer = &analysis.Analyzer{
	Name: "holdfast",
	Doc: `report what a durable function cannot replay

A function that performs durable operations on a *holdfast.Run is run again from its beginning after each wait. What it does between
them must be the same every time: no clock, no random numbers, no goroutines, channels and locks, no iteration over maps around
operations, nothing written with a client. A comment "//holdfast:vet ignore REASON" on the line, or on the line before, silences one
finding.`,
	URL: "https://github.com/holdfastdev/holdfast/blob/main/docs/vet.md",
	Run: run,
}

func run(pass *analysis.Pass) (any, error) {
	if pass.Pkg.Path() == library {
		return nil, nil // the library itself may do so
	}
	c := &inspection{tree: newTree(pass.Files, pass.TypesInfo), seen: map[place]bool{}, used: map[*ast.Ident]bool{}}
	for _, f := range c.functions {
		if f.body != nil {
			c.check(f)
		}
	}
	slices.SortStableFunc(c.findings, func(a, b finding) int { return cmp.Compare(a.Pos, b.Pos) })
	for _, file := range pass.Files {
		c.silence(pass.Fset, file)
	}
	for _, f := range c.findings {
		if !f.silenced {
			pass.Report(f.Diagnostic)
		}
	}
	return nil, nil
}
