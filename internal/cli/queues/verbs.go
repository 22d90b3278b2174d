package queues

import "github.com/holdfastdev/holdfast/internal/cli/app"

// verbs has the verbs on queues and kinds.
type verbs struct{ *app.App }
