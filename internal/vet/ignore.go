package vet

import (
	"go/ast"
	"go/token"
	"strings"
)

const directive = "//holdfast:vet"

// silence applies the comments of a file: each silences the first finding on its line, or else on
// the next one.
func (c *inspection) silence(fset *token.FileSet, file *ast.File) {
	for _, group := range file.Comments {
		for _, comment := range group.List {
			text, ok := strings.CutPrefix(comment.Text, directive)
			if !ok || text != "" && !strings.HasPrefix(text, " ") {
				continue
			}
			text, _, _ = strings.Cut(text, "//") // drop a second comment
			if words := strings.Fields(text); len(words) < 2 || words[0] != "ignore" {
				c.report(comment, "this comment has no effect; write "+directive+" ignore REASON")
				continue
			}
			at := fset.Position(comment.Pos())
			if !c.silenceLine(fset, at.Filename, at.Line) {
				c.silenceLine(fset, at.Filename, at.Line+1)
			}
		}
	}
}

// silenceLine silences the first finding on a line, and reports whether there is one.
func (c *inspection) silenceLine(fset *token.FileSet, file string, line int) bool {
	for i := range c.findings {
		f := &c.findings[i]
		if at := fset.Position(f.Pos); !f.silenced && at.Line == line && at.Filename == file {
			f.silenced = true
			return true
		}
	}
	return false
}
