package jobs

import "github.com/holdfastdev/holdfast/internal/cli/app"

// verbs are the verbs on jobs.
type verbs struct{ *app.App }
