package vet

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/analysis"
)

// finding is a diagnostic that a comment may silence.
type finding struct {
	analysis.Diagnostic

	silenced bool
}

// place identifies a finding.
type place struct {
	pos     token.Pos
	message string
}

// inspection applies the rules to a package.
type inspection struct {
	*tree

	findings []finding
	seen     map[place]bool
	used     map[*ast.Ident]bool // names already reported
}

// report adds a finding, once.
func (c *inspection) report(at ast.Node, message string) {
	if p := (place{at.Pos(), message}); !c.seen[p] {
		c.seen[p] = true
		c.findings = append(c.findings, finding{Diagnostic: analysis.Diagnostic{Pos: p.pos, End: at.End(), Message: message}})
	}
}
