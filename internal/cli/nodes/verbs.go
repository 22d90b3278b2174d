package nodes

import "github.com/holdfastdev/holdfast/internal/cli/app"

// verbs has the verbs of nodes.
type verbs struct{ *app.App }
