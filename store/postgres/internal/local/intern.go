package local

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// LanesOf returns the lanes of jobs, and makes those that do not exist. They are made in a
// transaction of their own, never in a caller's, whose locks may live long. With foreign set a
// caller's transaction may hold the last connection of the pool, so a new connection is made for
// it; that happens once a day per lane and process, and one at a time.
//
// A transaction that enqueues from SQL makes the lanes that it needs itself. Until it ends, without
// foreign, the lanes that it is making are returned without an id; with it, they are waited for.
func (s *Store) LanesOf(ctx context.Context, jobs []*store.Job, foreign bool) (lanes []Lane, err error) {
	lanes, missing := s.lanesKnown(jobs, foreign)
	if missing == nil {
		return lanes, nil
	}
	if foreign {
		var leave func(error)
		if leave, err = s.beside.enter(ctx); err != nil {
			return nil, err
		}
		defer func() { leave(err) }()
		// The caller before this one may have needed the same lanes.
		if lanes, missing = s.lanesKnown(jobs, foreign); missing == nil {
			return lanes, nil
		}
	}
	found, err := s.internLanes(ctx, missing, foreign)
	if err != nil {
		return nil, err
	}
	for i, job := range jobs {
		if lanes[i].ID != 0 {
			continue
		}
		l, ok := found[keyOf(job)]
		if lanes[i] = l; !ok {
			return nil, fmt.Errorf("%w: the lane of job %s vanished", store.ErrSchema, job.ID)
		}
	}
	return lanes, nil
}

// lanesKnown returns the lanes of jobs as far as they need not be asked for, and the others.
func (s *Store) lanesKnown(jobs []*store.Job, foreign bool) (lanes []Lane, missing []laneKey) {
	lanes = make([]Lane, len(jobs))
	today := s.Today()
	for i, job := range jobs {
		l, ok := s.Lanes.find(keyOf(job))
		if !ok || l.day != today || foreign && !s.Lanes.IsUsed(l.QueueID) {
			missing = append(missing, keyOf(job))
			continue
		}
		lanes[i] = l
	}
	return lanes, missing
}

// intern is the lanes that one transaction makes.
type intern struct {
	store   *Store
	keys    []laneKey // in order
	foreign bool      // as of LanesOf
	wait    time.Duration
	found   []Lane
}

// internLanes makes lanes that do not exist, and says of the others that they are used today. Those
// that another transaction is making have no id, unless they are waited for (foreign).
func (s *Store) internLanes(ctx context.Context, keys []laneKey, foreign bool) (map[laneKey]Lane, error) {
	slices.SortFunc(keys, compareLaneKeys)
	keys = slices.Compact(keys)
	all := &intern{store: s, keys: keys, foreign: foreign, wait: laneWait}
	if slices.ContainsFunc(keys, s.making.has) {
		all.wait = laneWaitAgain
	}
	parts, made := []*intern{all}, []laneKey(nil)
	err := all.commit(ctx)
	if !foreign && pg.IsLockTimeout(err) {
		parts, made, err = s.internEach(ctx, keys)
	}
	if err != nil {
		return nil, err
	}
	lanes := make(map[laneKey]Lane, len(keys))
	for _, key := range made {
		lanes[key] = Lane{}
	}
	for _, part := range parts {
		for _, l := range part.found {
			s.Lanes.Add(l)
			s.making.note(l.laneKey, false)
			lanes[l.laneKey] = l
		}
	}
	return lanes, nil
}

// internEach makes lanes but those that another transaction is making, which it returns.
func (s *Store) internEach(ctx context.Context, keys []laneKey) (parts []*intern, made []laneKey, err error) {
	for _, key := range keys {
		one := &intern{store: s, keys: []laneKey{key}, wait: laneWaitAgain}
		switch err := one.commit(ctx); {
		case pg.IsLockTimeout(err):
			s.making.note(key, true)
			made = append(made, key)
		case err != nil:
			return nil, nil, err
		default:
			parts = append(parts, one)
		}
	}
	return parts, made, nil
}

// commit makes the lanes in a transaction of its own.
func (n *intern) commit(ctx context.Context) error {
	s := n.store
	once := func() error { return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error { return n.run(ctx, t) }) }
	if n.foreign {
		conn, err := s.Beside(ctx, "")
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(ctx) }() // nothing depends on it
		once = func() error {
			return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{BeginQuery: pg.BeginHot}, func(tx pgx.Tx) error {
				return n.run(ctx, pg.Session{DB: s.DB, Tx: tx})
			})
		}
	}
	err := pg.RetryOnConflict(ctx, once)
	if pg.CodeOf(err) == pg.CodeForeignKey { // an unused queue was removed between the two statements
		err = pg.RetryOnConflict(ctx, once)
	}
	return err
}

func (n *intern) run(ctx context.Context, t pg.Session) error {
	var namespaces, queues, kinds []string
	var priorities []int32
	for _, k := range n.keys {
		namespaces, queues, kinds = append(namespaces, k.Namespace), append(queues, k.Queue), append(kinds, k.kind)
		priorities = append(priorities, k.Priority)
	}
	today := n.store.Today()
	n.found = nil
	if !n.foreign {
		if err := t.RunAll(ctx, []pg.Statement{pg.WaitAtMost(n.wait)}); err != nil {
			return err
		}
	}
	if err := t.Run(ctx, "queues_intern", nil, namespaces, queues); err != nil {
		return err
	}
	if err := t.Run(ctx, "lanes_intern", nil, namespaces, queues, kinds, priorities, today); err != nil {
		return err
	}
	err := t.Run(ctx, "lanes_named", func(r pg.Row) error {
		l, err := ScanLane(r)
		l.used, l.day = l.used || n.foreign, today
		n.found = append(n.found, l)
		return err
	}, namespaces, queues, kinds, priorities)
	if err != nil || !n.foreign {
		return err
	}
	ids := make([]int32, len(n.found))
	for i, l := range n.found {
		ids[i] = l.QueueID
	}
	return t.Run(ctx, "queues_used_soon", nil, ids, n.store.Micros())
}
