package operate

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/holdfastdev/holdfast/store/internal/kept"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/read"
	"github.com/holdfastdev/holdfast/store/postgres/internal/schema"
	"github.com/holdfastdev/holdfast/store/postgres/internal/spans"
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
	looked   map[looked]look // partitions that retention leaves alone for a while
	MoveMost int             // how many entries it moves; maxMoved
	KeepMost int             // how many jobs; maxSurvivors

	walks kept.Walks // how far it has looked at jobs that queues keep for less than others
	spans spans.Sweep
}

// New puts it on what it stands on.
func New(write *write.Store, read *read.Store, tables *schema.Tables) *Store {
	return &Store{Store: write, reader: read, tables: tables, MoveMost: maxMoved, KeepMost: maxSurvivors}
}

// looked names what a partition was looked at for: the rules of that moment.
type looked struct {
	schema.Partition

	mark uint64
}

// maxMoved is how many entries the journals may have of the jobs that outlive their day, which move
// with them, at about 5 microseconds each.
const maxMoved = 1_000_000

// days are the partitions that there are now.
func (s *Store) days(ctx context.Context) (list schema.Days, err error) {
	err = s.InTx(ctx, pg.BeginRead, func(t pg.Session) (err error) {
		list, err = s.tables.Partitions(ctx, t)
		return err
	})
	return list, err
}
