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

const (
	// maxSurvivors is how many jobs of a day may outlive it for its partitions to be dropped. They are moved while
	// everybody waits, at about 15 microseconds each.
	maxSurvivors = 100_000
	// maxMoved is how many entries the journals of those jobs may have, which move with them, at about 5 microseconds each.
	maxMoved = 1_000_000
	// lookAgain is how long a partition that could not be dropped is left alone: looking at it costs a scan.
	lookAgain = time.Hour
	// dropWait is how long dropping may wait for those who use the tables. Everybody else waits behind it.
	dropWait = "200ms"
	// deleteLimit is how many jobs are deleted at once if RetainParams does not say.
	deleteLimit = 1000
)
