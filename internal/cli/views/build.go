package views

import "github.com/holdfastdev/holdfast/store"

// Build is by which program a run was done.
type Build struct {
	Program Text `json:"program"`
	Engine  Text `json:"engine"`
}

// newBuild returns nil for one that is not known.
func newBuild(b store.Build) *Build {
	if b == (store.Build{}) {
		return nil
	}
	return &Build{Text(b.Program), Text(b.Engine)}
}

// buildText tells it to people; "" if it is not known.
func buildText(b store.Build) string {
	text := b.Program
	if b.Engine != "" {
		text += " with holdfast " + b.Engine
	}
	return text
}
