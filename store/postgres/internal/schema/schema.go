package schema

import (
	"sync/atomic"

	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Tables is the schema of a database.
type Tables struct {
	*pg.DB

	horizon atomic.Int64 // the time until which there are partitions
}
