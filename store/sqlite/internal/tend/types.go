package tend

import (
	"sync/atomic"

	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
)

// Verbs are what keeps a database in order, and what people do beside single jobs.
type Verbs struct {
	d          *core.Database
	queuesSeen *atomic.Int64 // the last queue that Retain has looked at
}

// New returns the verbs of a database.
func New(d *core.Database) Verbs { return Verbs{d, new(atomic.Int64)} }
