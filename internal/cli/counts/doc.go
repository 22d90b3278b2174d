// Package counts is the verbs of "stats": what happened to runs, and what was measured.
package counts

import "github.com/holdfastdev/holdfast/internal/cli/app"

// verbs are the verbs of this package.
type verbs struct{ *app.App }
