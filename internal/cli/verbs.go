package cli

import "github.com/holdfastdev/holdfast/internal/cli/app"

// verbs has the root command and the verbs that have no package of their own.
type verbs struct{ *app.App }
