// Package retentions has the verbs on classes of retention, and on what retention has removed.
//
// This package imports the root package, retention and store, and of internal/cli the base of all
// verbs.
package retentions

import "github.com/holdfastdev/holdfast/internal/cli/app"

// verbs are the verbs of this package.
type verbs struct{ *app.App }

// uses are the global flags of the verbs: classes are of the database, not of a namespace.
func uses() map[string]string {
	return app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagOutput, app.FlagQuiet))
}
