package tend

import (
	"sync/atomic"

	"github.com/holdfastdev/holdfast/store/internal/kept"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/spans"
)

// Verbs are what keeps a database in order, and what people do beside single jobs.
type Verbs struct {
	d          *core.Database
	queuesSeen *atomic.Int64 // the last queue that Retain has looked at
	walks      *kept.Walks   // how far it has looked at jobs that queues keep for less than others
	spans      *spans.Sweep  // how far it has looked at where lanes have jobs
}

// New returns the verbs of a database.
func New(d *core.Database) Verbs {
	return Verbs{d, new(atomic.Int64), new(kept.Walks), new(spans.Sweep)}
}
