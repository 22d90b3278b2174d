// Package dead has the verbs on dead letters: jobs that have failed for good.
package dead

import "github.com/holdfastdev/holdfast/internal/cli/app"

// verbs are the verbs of this package.
type verbs struct{ *app.App }
