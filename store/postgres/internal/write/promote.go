package write

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// turnsAtOnce is how many ordering keys are looked at in one statement.
const turnsAtOnce = 500

// Promote is that of store.Maintenance, without the class of its error.
func (s *Store) Promote(ctx context.Context, limit int) (store.Promoted, error) {
	var promoted store.Promoted
	err := pg.RetryOnConflict(ctx, func() (err error) {
		promoted, err = s.promote(ctx, limit)
		return err
	})
	if err != nil {
		return store.Promoted{}, err
	}
	return promoted, nil
}

// movedJobs are jobs that became available: their lanes, and the earliest place in each lane at
// which one was put.
type movedJobs struct {
	lanes  map[store.ID]int32
	places map[int32]int64
}

func newMoved() movedJobs { return movedJobs{map[store.ID]int32{}, map[int32]int64{}} }

func (m movedJobs) add(id pgtype.UUID, lane int32, runAt *int64) {
	m.lanes[id.Bytes] = lane
	if runAt != nil {
		m.place(lane, *runAt)
	}
}

func (m movedJobs) place(lane int32, runAt int64) {
	if at, ok := m.places[lane]; !ok || runAt < at {
		m.places[lane] = runAt
	}
}

func (m movedJobs) scan(r pg.Row) error {
	var id pgtype.UUID
	var lane int32
	var runAt *int64
	err := r.Scan(&id, &lane, &runAt)
	m.add(id, lane, runAt)
	return err
}

// turns counts ordering keys that were looked at, and those whose head a caller's transaction has.
type turns struct{ looked, left int }

func (m movedJobs) scanTurn(r pg.Row, t *turns) error {
	var id pgtype.UUID
	var lane *int32
	var runAt *int64
	err := r.Scan(&t.looked, &t.left, &id, &lane, &runAt)
	if lane != nil {
		m.add(id, *lane, runAt)
	}
	return err
}

// turnsAgain is when keys are looked at again whose head a caller's transaction has, and due jobs
// that one has.
const turnsAgain = 100 * time.Millisecond

func (s *Store) promote(ctx context.Context, limit int) (promoted store.Promoted, err error) {
	// Nearly always there is nothing to do, and a node without work should cost the database next
	// to nothing.
	look, err := s.lookForDue(ctx, &promoted)
	if err != nil {
		return promoted, err
	}
	moved := newMoved()
	if err := s.promoteGates(ctx, &look, limit, moved); err != nil {
		return promoted, err
	}
	next := promoted.NextDue
	if promoted, err = s.promoteDue(ctx, limit, moved, look.found); err != nil {
		return promoted, err
	}
	if !look.found {
		promoted.NextDue = next
	}
	if at := look.sweepAt; !at.IsZero() && (promoted.NextDue.IsZero() || at.Before(promoted.NextDue)) {
		promoted.NextDue = at
	}
	return promoted, nil
}

// promoteDue moves what is due, if anything was found to be, and says what has moved in all.
func (s *Store) promoteDue(ctx context.Context, limit int, moved movedJobs, found bool) (promoted store.Promoted, err error) {
	if found {
		err = s.moveDue(ctx, max(limit, 0), moved, &promoted)
	}
	if promoted.Jobs = len(moved.lanes); err != nil || promoted.Jobs == 0 {
		return promoted, err
	}
	s.Hint(moved.places)
	if promoted.Wakes, err = s.queuesOf(ctx, moved); err != nil {
		promoted.Wakes = []store.Wake{{Kind: store.WakeAll}} // they are available, whatever their queues are
	}
	return promoted, nil
}

// moveDue moves what is due.
func (s *Store) moveDue(ctx context.Context, limit int, moved movedJobs, promoted *store.Promoted) error {
	due, left := 0, false
	var keys turns
	now := s.Micros()
	err := s.Send(ctx,
		pg.Statement{Name: "promote_due", Args: []any{now, int32(limit)}, Each: func(r pg.Row) error {
			due++
			return moved.scan(r)
		}},
		pg.Statement{Name: "hand_on_turns", Args: []any{int32(limit)}, Each: func(r pg.Row) error { return moved.scanTurn(r, &keys) }},
		pg.Statement{Name: "next_due", Args: []any{now}, Each: func(r pg.Row) error {
			var at *int64
			err := r.Scan(&left, &at)
			promoted.NextDue = pg.OptTime(at)
			return err
		}})
	if err != nil {
		return err
	}
	promoted.More = limit > 0 && (due >= limit || keys.looked >= limit && keys.left < keys.looked)
	// What is due and was passed over is not asked for again and again until its holder lets it go.
	if again := s.Now().Add(turnsAgain); (left || keys.left > 0) && (promoted.NextDue.IsZero() || promoted.NextDue.After(again)) {
		promoted.NextDue = again
	}
	return nil
}

// due is what there is to promote.
type due struct {
	found   bool // jobs are due, or turns to be handed on
	checks  bool // gates are to be looked at
	gated   bool // jobs wait at gates
	sweepAt time.Time
}

func (s *Store) lookForDue(ctx context.Context, promoted *store.Promoted) (d due, err error) {
	err = s.Send(ctx, pg.Statement{Name: "promote_look", Args: []any{s.Micros()}, Each: func(r pg.Row) error {
		var at *int64
		err := r.Scan(&d.found, &at, &d.checks, &d.gated)
		promoted.NextDue = pg.OptTime(at)
		return err
	}})
	return d, err
}

// queuesOf returns a wake-up for each queue that jobs moved in.
func (s *Store) queuesOf(ctx context.Context, moved movedJobs) ([]store.Wake, error) {
	var ids []int32
	seen := map[int32]bool{}
	for _, id := range moved.lanes {
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	if err := s.KnowLanes(ctx, ids); err != nil {
		return nil, err
	}
	type queue struct{ namespace, name string }
	told := map[queue]bool{}
	var wakes []store.Wake
	for _, id := range ids {
		l, _ := s.Lanes.Get(id)
		if q := (queue{l.Namespace, l.Queue}); !told[q] {
			told[q] = true
			wakes = append(wakes, store.Wake{Kind: store.WakeReady, Namespace: q.namespace, Queue: q.name})
		}
	}
	return wakes, nil
}

// turnsAfterCommit hands on turns of ordering keys as soon as they were freed or asked for, so that
// who waits for one need not wait for the next promotion, and returns the wakes for it.
func (s *Store) turnsAfterCommit(ctx context.Context) []store.Wake {
	return s.afterCommit(ctx, s.handOn)
}

// afterCommit does what promotion would do later.
func (s *Store) afterCommit(ctx context.Context, handOn func(context.Context) ([]store.Wake, error)) []store.Wake {
	wakes, err := handOn(ctx)
	if err != nil {
		// Promotion does it then.
		return []store.Wake{{Kind: store.WakeDeferred, Due: s.Now()}}
	}
	return wakes
}

// handOn hands on turns of ordering keys, and returns a wake for each queue in which a job got one.
func (s *Store) handOn(ctx context.Context) ([]store.Wake, error) {
	var moved movedJobs
	var keys turns
	err := pg.RetryOnConflict(ctx, func() error {
		moved, keys = newMoved(), turns{}
		return s.Send(ctx, pg.Statement{Name: "hand_on_turns", Args: []any{int32(turnsAtOnce)}, Each: func(r pg.Row) error {
			return moved.scanTurn(r, &keys)
		}})
	})
	if err != nil {
		return nil, err
	}
	wakes, err := s.queuesOf(ctx, moved)
	s.Hint(moved.places)
	if keys.left > 0 {
		wakes = append(wakes, store.Wake{Kind: store.WakeDeferred, Due: s.Now().Add(turnsAgain)})
	}
	return wakes, err
}
