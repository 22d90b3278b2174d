package databases

import "github.com/holdfastdev/holdfast/internal/cli/app"

// verbs has the verbs on databases.
type verbs struct{ *app.App }
