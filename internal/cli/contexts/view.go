package contexts

import (
	"github.com/holdfastdev/holdfast/internal/cli/config"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

// view is where commands go, under a name. Passwords are not in it.
type view struct {
	Context          string     `json:"context"`
	Current          bool       `json:"current"`
	Production       bool       `json:"production"`
	Database         views.Text `json:"database"`
	DatabaseVariable views.Text `json:"database_variable"`
	Server           views.Text `json:"server"`
	Namespace        views.Text `json:"namespace"`
	TokenFile        views.Text `json:"token_file"`
	TokenVariable    views.Text `json:"token_variable"`
	TLSCA            views.Text `json:"tls_ca"`
}

// newView returns the view of a context.
func newView(c *config.Context, current string) view {
	return view{
		Context: c.Name, Current: c.Name == current, Production: c.Production,
		Database: views.Text(output.WithoutPasswords(c.Database)), DatabaseVariable: views.Text(c.DatabaseVariable),
		Server: views.Text(output.WithoutPasswords(c.Server)), Namespace: views.Text(c.Namespace),
		TokenFile: views.Text(c.TokenFile), TokenVariable: views.Text(c.TokenVariable), TLSCA: views.Text(c.TLSCA),
	}
}

// header is the header of a table of contexts.
var header = []string{"CONTEXT", "CURRENT", "PRODUCTION", "PLACE", "NAMESPACE"}

// row formats a context for a table.
func row(v *view, place string) []string {
	return []string{v.Context, yes(v.Current), yes(v.Production), place, output.Clip(string(v.Namespace), output.MaxName)}
}

// yes is "yes", or nothing.
func yes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

// removed is a context that was removed.
type removed struct {
	Context string `json:"context"`
	Removed bool   `json:"removed"`
}

// used is the context that was made the current one; "": none is.
type used struct {
	Context views.Text `json:"context"`
}
