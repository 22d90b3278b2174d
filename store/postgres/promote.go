package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
)

// turnsAtOnce is how many ordering keys are looked at in one statement.
const turnsAtOnce = 500

// Promote implements store.Maintenance. Several nodes may promote at once: each passes over what the others have taken.
func (s *Store) Promote(ctx context.Context, limit int) (store.Promoted, error) {
	var promoted store.Promoted
	err := patiently(ctx, func() (err error) {
		promoted, err = s.promote(ctx, limit)
		return err
	})
	if err != nil {
		return store.Promoted{}, classify(ctx, "promote", err)
	}
	return promoted, nil
}

// movedJobs are jobs that became available, by the lanes that they are in.
type movedJobs map[store.ID]int32

func (m movedJobs) scan(r row) error {
	var id pgtype.UUID
	var lane int32
	err := r.Scan(&id, &lane)
	m[id.Bytes] = lane
	return err
}

func (m movedJobs) scanTurn(r row) (checks int, err error) {
	var id pgtype.UUID
	var lane *int32
	if err := r.Scan(&checks, &id, &lane); err != nil {
		return 0, err
	}
	if lane != nil {
		m[id.Bytes] = *lane
	}
	return checks, nil
}

func (s *Store) promote(ctx context.Context, limit int) (promoted store.Promoted, err error) {
	// Nearly always there is nothing to do, and a node without work should cost the database next to nothing.
	if found, err := s.lookForDue(ctx, &promoted); err != nil || !found {
		return promoted, err
	}
	limit = max(limit, 0)
	moved := movedJobs{}
	due, checks := 0, 0
	promoted.NextDue = time.Time{}
	err = s.send(ctx,
		statement{name: "promote_due", args: []any{s.now(), int32(limit)}, each: func(r row) error {
			due++
			return moved.scan(r)
		}},
		statement{name: "hand_on_turns", args: []any{int32(limit)}, each: func(r row) (err error) {
			checks, err = moved.scanTurn(r)
			return err
		}},
		statement{name: "next_due", each: func(r row) error {
			var at int64
			err := r.Scan(&at)
			promoted.NextDue = timeOf(at)
			return err
		}})
	if err != nil {
		return promoted, err
	}
	promoted.Jobs = len(moved)
	promoted.More = limit > 0 && (due >= limit || checks >= limit)
	wakes, err := s.queuesOf(ctx, moved)
	for _, w := range wakes {
		if !slices.Contains(promoted.Queues, w.Queue) {
			promoted.Queues = append(promoted.Queues, w.Queue)
		}
	}
	slices.Sort(promoted.Queues)
	return promoted, err
}

func (s *Store) lookForDue(ctx context.Context, promoted *store.Promoted) (found bool, err error) {
	err = s.send(ctx, statement{name: "promote_look", args: []any{s.now()}, each: func(r row) error {
		var at *int64
		err := r.Scan(&found, &at)
		promoted.NextDue = optTime(at)
		return err
	}})
	return found, err
}

// queuesOf returns a wake-up for each queue that jobs moved in.
func (s *Store) queuesOf(ctx context.Context, moved movedJobs) ([]store.Wake, error) {
	var ids []int32
	seen := map[int32]bool{}
	for _, id := range moved {
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	if err := s.knowLanes(ctx, ids); err != nil {
		return nil, err
	}
	type queue struct{ namespace, name string }
	told := map[queue]bool{}
	var wakes []store.Wake
	for _, id := range ids {
		l, _ := s.lanes.get(id)
		if q := (queue{l.namespace, l.queue}); !told[q] {
			told[q] = true
			wakes = append(wakes, store.Wake{Kind: store.WakeReady, Namespace: q.namespace, Queue: q.name})
		}
	}
	return wakes, nil
}

// handOnAfterCommit gives turns of ordering keys on as soon as they were freed or asked for, so that who waits for one
// need not wait for the next promotion. Nodes are told, this one too: it does not know that it has something to claim.
func (s *Store) handOnAfterCommit(ctx context.Context) error {
	moved := movedJobs{}
	err := patiently(ctx, func() error {
		return s.send(ctx, statement{name: "hand_on_turns", args: []any{int32(turnsAtOnce)}, each: func(r row) error {
			_, err := moved.scanTurn(r)
			return err
		}})
	})
	if err != nil || len(moved) == 0 {
		return err
	}
	wakes, err := s.queuesOf(ctx, moved)
	s.notifier.tell("", wakes)
	return err
}
