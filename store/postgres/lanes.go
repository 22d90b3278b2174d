package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
)

// maxLanes is how many lanes a generation of the cache keeps.
const maxLanes = 50_000

func newLaneTable() laneTable {
	return laneTable{map[laneKey]lane{}, map[int32]lane{}, map[queueName][]int32{}, map[int32]bool{}}
}

func (t *laneTable) add(l lane) {
	if of := (queueName{l.namespace, l.queue}); t.byID[l.id].id == 0 {
		t.queue[of] = append(t.queue[of], l.id)
	}
	if l.used {
		t.used[l.queueID] = true
	}
	t.byKey[l.laneKey], t.byID[l.id] = l, l
}

func (c *laneCache) add(l lane) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range []*laneTable{&c.young, &c.old} {
		if known, ok := t.byID[l.id]; ok && known.day > l.day {
			l.day = known.day
		}
	}
	c.keep(l)
}

// keep puts a lane among the young ones. c.mu is held.
func (c *laneCache) keep(l lane) {
	if c.young.byKey == nil || len(c.young.byID) >= cmp.Or(c.most, maxLanes) {
		c.young, c.old = newLaneTable(), c.young
	}
	l.used = l.used || c.old.used[l.queueID]
	c.young.add(l)
}

func (c *laneCache) find(key laneKey) (lane, bool) {
	return c.in(func(t *laneTable) (lane, bool) { l, ok := t.byKey[key]; return l, ok })
}

func (c *laneCache) get(id int32) (lane, bool) {
	return c.in(func(t *laneTable) (lane, bool) { l, ok := t.byID[id]; return l, ok })
}

// in looks a lane up. One that was found is young.
func (c *laneCache) in(look func(*laneTable) (lane, bool)) (lane, bool) {
	c.mu.RLock()
	l, ok := look(&c.young)
	aged := false
	if !ok {
		l, aged = look(&c.old)
	}
	c.mu.RUnlock()
	if !aged {
		return l, ok
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := look(&c.young); ok {
		return known, true
	}
	c.keep(l)
	return l, true
}

// ofQueue returns the lanes of a queue that are known.
func (c *laneCache) ofQueue(namespace, queue string) []int32 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	name := queueName{namespace, queue}
	ids := slices.Concat(c.young.queue[name], c.old.queue[name])
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (c *laneCache) isUsed(queue int32) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.young.used[queue] || c.old.used[queue]
}

// setUsed notes queues of lanes that are known.
func (c *laneCache) setUsed(queues []int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, queue := range queues {
		c.young.used[queue] = true
	}
}

func keyOf(job *store.Job) laneKey {
	kind := job.Kind
	if job.Version != "" {
		kind += "@" + job.Version
	}
	return laneKey{job.Namespace, job.Queue, kind, int32(job.Priority)}
}

// lanesOf returns the lanes of jobs, and makes those that do not exist. They are made in a transaction of their own,
// never in a caller's, whose locks may live long. With foreign set a caller's transaction may hold the last connection of the
// pool, so a new connection is made for it; that happens once a day per lane and process, and one at a time.
func (s *localStore) lanesOf(ctx context.Context, jobs []*store.Job, foreign bool) (lanes []lane, err error) {
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
		// Whoever was there before may have wanted the same.
		if lanes, missing = s.lanesKnown(jobs, foreign); missing == nil {
			return lanes, nil
		}
	}
	found, err := s.internLanes(ctx, missing, foreign)
	if err != nil {
		return nil, err
	}
	for i, job := range jobs {
		if l, ok := found[keyOf(job)]; ok {
			lanes[i] = l
		}
		if lanes[i].id == 0 {
			return nil, fmt.Errorf("%w: the lane of job %s vanished", store.ErrSchema, job.ID)
		}
	}
	return lanes, nil
}

// lanesKnown returns the lanes of jobs as far as they need not be asked for, and the others.
func (s *localStore) lanesKnown(jobs []*store.Job, foreign bool) (lanes []lane, missing []laneKey) {
	lanes = make([]lane, len(jobs))
	today := s.today()
	for i, job := range jobs {
		l, ok := s.lanes.find(keyOf(job))
		if !ok || l.day != today || foreign && !s.lanes.isUsed(l.queueID) {
			missing = append(missing, keyOf(job))
		}
		lanes[i] = l
	}
	return lanes, missing
}

// enter waits for the turn, which ends when leave is called with what came of it.
func (d *door) enter(ctx context.Context) (leave func(error), err error) {
	for {
		d.mu.Lock()
		before := d.inside
		if before == nil {
			mine := &visit{over: make(chan struct{})}
			d.inside = mine
			d.mu.Unlock()
			return func(err error) { d.leave(ctx, mine, err) }, nil
		}
		d.mu.Unlock()
		select {
		case <-before.over:
			if before.err != nil {
				return nil, before.err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (d *door) leave(ctx context.Context, v *visit, err error) {
	if _, away := errors.AsType[*pgconn.ConnectError](err); away && ctx.Err() == nil {
		v.err = err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inside = nil
	close(v.over)
}

// today is the number of the day, counted from 1970.
func (s *database) today() int32 { return dayOf(s.micros()) }

func dayOf(micros int64) int32 { return int32(micros / day.Microseconds()) }

func compareLaneKeys(a, b laneKey) int {
	return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.queue, b.queue), cmp.Compare(a.kind, b.kind),
		cmp.Compare(a.priority, b.priority))
}

// internLanes makes lanes that do not exist, and says of the others that they are used today.
func (s *localStore) internLanes(ctx context.Context, keys []laneKey, foreign bool) (map[laneKey]lane, error) {
	slices.SortFunc(keys, compareLaneKeys)
	keys = slices.Compact(keys)
	var namespaces, queues, kinds []string
	var priorities []int32
	for _, k := range keys {
		namespaces, queues, kinds = append(namespaces, k.namespace), append(queues, k.queue), append(kinds, k.kind)
		priorities = append(priorities, k.priority)
	}
	today := s.today()
	// What was read is published only once it is committed.
	var found []lane
	work := func(tx pgx.Tx) error {
		t := session{s.database, tx}
		if err := t.run(ctx, "queues_intern", nil, namespaces, queues); err != nil {
			return err
		}
		if err := t.run(ctx, "lanes_intern", nil, namespaces, queues, kinds, priorities, today); err != nil {
			return err
		}
		found = found[:0]
		err := t.run(ctx, "lanes_named", func(r row) error {
			l, err := scanLane(r)
			l.used, l.day = l.used || foreign, today
			found = append(found, l)
			return err
		}, namespaces, queues, kinds, priorities)
		if err != nil || !foreign {
			return err
		}
		ids := make([]int32, len(found))
		for i, l := range found {
			ids[i] = l.queueID
		}
		return t.run(ctx, "queues_used_soon", nil, ids, s.micros())
	}
	commit := func() error { return s.inTx(ctx, beginHot, func(t session) error { return work(t.tx) }) }
	if foreign {
		conn, err := pgx.ConnectConfig(ctx, s.connConfig())
		if err != nil {
			return nil, err
		}
		defer func() { _ = conn.Close(ctx) }() // nothing depends on it
		commit = func() error { return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{BeginQuery: beginHot}, work) }
	}
	err := retryOnConflict(ctx, commit)
	if codeOf(err) == codeForeignKey { // a queue that nobody used was removed between the two statements
		err = retryOnConflict(ctx, commit)
	}
	if err != nil {
		return nil, err
	}
	lanes := make(map[laneKey]lane, len(found))
	for _, l := range found {
		s.lanes.add(l)
		lanes[l.laneKey] = l
	}
	return lanes, nil
}

// bindLanes is the statement that makes the lanes of runs whose jobs are to be bound to a version, or nil.
func bindLanes(runs []*run, today int32) *statement {
	var ids []pgtype.UUID
	var versions []string
	for _, r := range runs {
		if r.version != "" {
			ids, versions = append(ids, uuidOf(r.lease.Job)), append(versions, r.version)
		}
	}
	if ids == nil {
		return nil
	}
	return &statement{name: "lanes_bind", args: []any{ids, versions, today}}
}

func scanLane(r row) (l lane, err error) {
	err = r.Scan(&l.id, &l.queueID, &l.namespace, &l.queue, &l.kind, &l.priority, &l.used)
	return l, err
}

func (s *localStore) cacheLane(r row) error {
	l, err := scanLane(r)
	if err == nil {
		s.lanes.add(l)
	}
	return err
}

// knowLanes makes sure that the lanes with these ids are in the cache.
func (s *localStore) knowLanes(ctx context.Context, ids []int32) error {
	var missing []int32
	for _, id := range ids {
		if _, ok := s.lanes.get(id); !ok {
			missing = append(missing, id)
		}
	}
	if missing == nil {
		return nil
	}
	return s.send(ctx, statement{name: "lanes_by_id", args: []any{missing}, each: s.cacheLane})
}

// describe fills in what a job's lane says.
func (s *localStore) describe(job *store.Job, id int32) error {
	l, ok := s.lanes.get(id)
	if !ok {
		return fmt.Errorf("%w: job %s is in the unknown lane %d", store.ErrSchema, job.ID, id)
	}
	job.Namespace, job.Queue, job.Priority = l.namespace, l.queue, int(l.priority)
	job.Kind, job.Version, _ = strings.Cut(l.kind, "@")
	return nil
}
