package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
)

// laneKey is what a lane stands for. The kind of jobs that are bound to a version is "kind@version", as in store.ClaimParams.
type laneKey struct {
	namespace, queue, kind string
	priority               int32
}

// queueName names a queue.
type queueName struct{ namespace, name string }

// lane is a row of the table lane, with the names of its queue.
type lane struct {
	id, queueID int32
	laneKey
	used bool  // the queue has had a job; it may have one since
	day  int32 // on which it was there, and its row said so; 0: it is not known
}

// maxLanes bounds how many lanes a process remembers.
const maxLanes = 100_000

// laneCache holds the lanes that this process has met. What they stand for never changes. Those that were not used for long are removed, so
// one that was there yesterday is looked for before jobs are put into it.
type laneCache struct {
	mu    sync.RWMutex
	byKey map[laneKey]lane
	byID  map[int32]lane
	queue map[queueName][]int32 // the lanes of each queue
	used  map[int32]bool        // queues that have had a job
}

func (c *laneCache) add(l lane) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey == nil || len(c.byID) >= maxLanes {
		c.byKey, c.byID, c.used, c.queue = map[laneKey]lane{}, map[int32]lane{}, map[int32]bool{}, map[queueName][]int32{}
	}
	if l.used {
		c.used[l.queueID] = true
	}
	known, ok := c.byID[l.id]
	if known.day > l.day {
		l.day = known.day
	}
	if of := (queueName{l.namespace, l.queue}); !ok {
		c.queue[of] = append(c.queue[of], l.id)
	}
	c.byKey[l.laneKey] = l
	c.byID[l.id] = l
}

func (c *laneCache) find(key laneKey) (lane, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	l, ok := c.byKey[key]
	return l, ok
}

func (c *laneCache) get(id int32) (lane, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	l, ok := c.byID[id]
	return l, ok
}

// ofQueue returns the lanes of a queue that are known.
func (c *laneCache) ofQueue(namespace, queue string) []int32 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Clone(c.queue[queueName{namespace, queue}])
}

func (c *laneCache) isUsed(queue int32) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.used[queue]
}

func (c *laneCache) setUsed(queues []int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, queue := range queues {
		c.used[queue] = true
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
// pool, so a new connection is made for it; that happens once per lane and process.
func (s *Store) lanesOf(ctx context.Context, jobs []*store.Job, foreign bool) ([]lane, error) {
	lanes := make([]lane, len(jobs))
	var missing []laneKey
	today := s.today()
	for i, job := range jobs {
		l, ok := s.lanes.find(keyOf(job))
		if !ok || l.day != today || foreign && !s.lanes.isUsed(l.queueID) {
			missing = append(missing, keyOf(job))
		}
		lanes[i] = l
	}
	if missing == nil {
		return lanes, nil
	}
	if err := s.internLanes(ctx, missing, foreign); err != nil {
		return nil, err
	}
	for i, job := range jobs {
		l, ok := s.lanes.find(keyOf(job))
		if !ok {
			return nil, fmt.Errorf("%w: the lane of job %s vanished", store.ErrSchema, job.ID)
		}
		lanes[i] = l
	}
	return lanes, nil
}

// today is the number of the day, counted from 1970.
func (s *Store) today() int32 { return dayOf(s.now()) }

func dayOf(micros int64) int32 { return int32(micros / day.Microseconds()) }

// internLanes makes lanes that do not exist, and says of the others that they are used today.
func (s *Store) internLanes(ctx context.Context, keys []laneKey, foreign bool) error {
	slices.SortFunc(keys, func(a, b laneKey) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.queue, b.queue), cmp.Compare(a.kind, b.kind),
			cmp.Compare(a.priority, b.priority))
	})
	keys = slices.Compact(keys)
	var namespaces, queues, kinds []string
	var priorities []int32
	for _, k := range keys {
		namespaces, queues, kinds = append(namespaces, k.namespace), append(queues, k.queue), append(kinds, k.kind)
		priorities = append(priorities, k.priority)
	}
	today := s.today()
	intern := func(t runner) error {
		if err := t.run(ctx, "queues_intern", nil, namespaces, queues); err != nil {
			return err
		}
		return t.run(ctx, "lanes_intern", nil, namespaces, queues, kinds, priorities, today)
	}
	// What was read is published only once it is committed.
	var found []lane
	work := func(tx pgx.Tx) error {
		t := session{s, tx}
		if err := intern(t); err != nil {
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
		return t.run(ctx, "queues_used_soon", nil, ids, s.now())
	}
	commit := func() error { return s.inTx(ctx, beginHot, func(t session) error { return work(t.tx) }) }
	if foreign {
		conn, err := pgx.ConnectConfig(ctx, s.connConfig())
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(ctx) }() // nothing depends on it
		commit = func() error { return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{BeginQuery: beginHot}, work) }
	}
	err := patiently(ctx, commit)
	if codeOf(err) == codeForeignKey { // a queue that nobody used was removed between the two statements
		err = patiently(ctx, commit)
	}
	if err != nil {
		return err
	}
	for _, l := range found {
		s.lanes.add(l)
	}
	return nil
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

func (s *Store) cacheLane(r row) error {
	l, err := scanLane(r)
	if err == nil {
		s.lanes.add(l)
	}
	return err
}

// knowLanes makes sure that the lanes with these ids are in the cache.
func (s *Store) knowLanes(ctx context.Context, ids []int32) error {
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
func (s *Store) describe(job *store.Job, id int32) error {
	l, ok := s.lanes.get(id)
	if !ok {
		return fmt.Errorf("%w: job %s is in the unknown lane %d", store.ErrSchema, job.ID, id)
	}
	job.Namespace, job.Queue, job.Priority = l.namespace, l.queue, int(l.priority)
	job.Kind, job.Version, _ = strings.Cut(l.kind, "@")
	return nil
}
