// Package joblogs is the verb job logs, which shows what handlers have logged.
package joblogs

import "github.com/holdfastdev/holdfast/internal/cli/app"

// verbs are the verbs of this package.
type verbs struct{ *app.App }
