package local

import (
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Store is a database with what this process remembers of it, and what it hears of others.
type Store struct {
	*pg.DB

	origin   string      // tells our notifications from those of others
	Wakeups  atomic.Bool // notifications arrive
	Lanes    LaneCache
	Cursors  Cursors
	Gates    Gates
	Fair     Gates // the same of jobs that have fair keys
	making   making
	beside   door // to connections for lanes, beside the pool
	Notifier Notifier
}

// New returns what is known at the beginning: nothing.
func New(db *pg.DB) *Store {
	s := &Store{DB: db, origin: newOrigin()}
	s.Notifier.init(s)
	if db.Clock == nil {
		s.Cursors.Clock = time.Now
	}
	return s
}

// Close sends what is to be told, and ends.
func (s *Store) Close() { s.Notifier.stop() }
