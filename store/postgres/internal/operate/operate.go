package operate

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/read"
	"github.com/holdfastdev/holdfast/store/postgres/internal/schema"
	"github.com/holdfastdev/holdfast/store/postgres/internal/write"
)

// Store does what people ask for and what keeps the tables in order.
type Store struct {
	*write.Store

	reader *read.Store
	tables *schema.Tables

	retired   atomic.Int64 // the day on which lanes were removed last, and up to which
	forgotten atomic.Int64 // the last record of what people did that retention looked at

	rounds rounds // of CloseChildren

	lookedMu sync.Mutex
	looked   map[looked]time.Time // partitions that retention leaves alone for a while
	MoveMost int                  // how many entries it moves; maxMoved
}

// New puts it on what it stands on.
func New(write *write.Store, read *read.Store, tables *schema.Tables) *Store {
	return &Store{Store: write, reader: read, tables: tables, MoveMost: maxMoved}
}

// looked notes when a partition was looked at in vain.
type looked struct {
	schema.Partition
	store.Retention
}

// maxMoved is how many entries the journals may have of the jobs that outlive their day, which move
// with them, at about 5 microseconds each.
const maxMoved = 1_000_000
