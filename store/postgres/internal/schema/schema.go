package schema

import (
	"sync/atomic"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Tables is the schema of a database.
type Tables struct {
	*pg.DB
	// Later is one more migration than this program has, or nil. Only tests have one.
	Later *store.Migration

	horizon atomic.Int64 // the time until which there are partitions
}
