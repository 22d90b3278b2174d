package local

import (
	"context"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Moved are jobs that became available: their lanes, and the earliest place in each lane at which
// one was put.
type Moved struct {
	Lanes  map[store.ID]int32
	Places map[int32]int64
}

// NewMoved returns none.
func NewMoved() Moved { return Moved{map[store.ID]int32{}, map[int32]int64{}} }

// Add adds a job, with its place if it was put into ready.
func (m Moved) Add(id pgtype.UUID, lane int32, runAt *int64) {
	m.Lanes[id.Bytes] = lane
	if runAt != nil {
		m.Place(lane, *runAt)
	}
}

// Place notes where a job was put.
func (m Moved) Place(lane int32, runAt int64) {
	if at, ok := m.Places[lane]; !ok || runAt < at {
		m.Places[lane] = runAt
	}
}

// Scan adds a row: the id, the lane and the run time.
func (m Moved) Scan(r pg.Row) error {
	var id pgtype.UUID
	var lane int32
	var runAt *int64
	err := r.Scan(&id, &lane, &runAt)
	m.Add(id, lane, runAt)
	return err
}

// QueuesOf returns a wake-up for each queue that jobs moved in.
func (s *Store) QueuesOf(ctx context.Context, moved Moved) ([]store.Wake, error) {
	var ids []int32
	seen := map[int32]bool{}
	for _, id := range moved.Lanes {
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	if err := s.KnowLanes(ctx, ids); err != nil {
		return nil, err
	}
	told := map[QueueName]bool{}
	var wakes []store.Wake
	for _, id := range ids {
		l, _ := s.Lanes.Get(id)
		if q := (QueueName{l.Namespace, l.Queue}); !told[q] {
			told[q] = true
			wakes = append(wakes, store.Wake{Kind: store.WakeReady, Namespace: q.Namespace, Queue: q.Name})
		}
	}
	return wakes, nil
}

// Turns counts ordering keys that were looked at, and those whose head a caller's transaction has.
type Turns struct{ Looked, Left int }

// Scan reads a row of the statement that hands on turns.
func (t *Turns) Scan(r pg.Row, m Moved) error {
	var id pgtype.UUID
	var lane *int32
	var runAt *int64
	err := r.Scan(&t.Looked, &t.Left, &id, &lane, &runAt)
	if lane != nil {
		m.Add(id, *lane, runAt)
	}
	return err
}
