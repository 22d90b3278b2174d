package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// laneKey is what a lane stands for. The kind of jobs that are bound to a version is
// "kind@version", as in store.ClaimParams.
type laneKey struct {
	Namespace, Queue, kind string
	Priority               int32
}

// QueueName names a queue.
type QueueName struct{ Namespace, Name string }

// Lane is a row of the table lane, with the names of its queue.
type Lane struct {
	ID, QueueID int32
	laneKey
	used bool  // the queue has had a job; it may have one since
	day  int32 // on which it was there, and its row said so; 0: it is not known
}

// Kind is the kind, with the version that its jobs are bound to.
func (l Lane) Kind() string { return l.kind }

// LaneCache holds the lanes that this process has met. What they stand for never changes. Those
// that were not used for long are removed, so one that was there yesterday is looked for before
// jobs are put into it. The lanes that were needed last are kept: what was found a moment ago is
// still there, however many others came with it.
type LaneCache struct {
	mu         sync.RWMutex
	Most       int // 0: maxLanes; only tests change it
	young, old laneTable
}

// laneTable is a set of lanes.
type laneTable struct {
	byKey map[laneKey]Lane
	byID  map[int32]Lane
	queue map[QueueName][]int32 // the lanes of each queue
	used  map[int32]bool        // queues that have had a job
}

// door admits one caller at a time. If that one finds that there is no connection to be had, those
// that wait behind it get the same answer and do not try again.
type door struct {
	mu     sync.Mutex
	inside *visit
}

// visit is that of one of them.
type visit struct {
	over chan struct{}
	err  error // known when it is over
}

// maxLanes is how many lanes a generation of the cache keeps.
const maxLanes = 50_000

func newLaneTable() laneTable {
	return laneTable{map[laneKey]Lane{}, map[int32]Lane{}, map[QueueName][]int32{}, map[int32]bool{}}
}

func (t *laneTable) add(l Lane) {
	if of := (QueueName{l.Namespace, l.Queue}); t.byID[l.ID].ID == 0 {
		t.queue[of] = append(t.queue[of], l.ID)
	}
	if l.used {
		t.used[l.QueueID] = true
	}
	t.byKey[l.laneKey], t.byID[l.ID] = l, l
}

// Add notes a lane.
func (c *LaneCache) Add(l Lane) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range []*laneTable{&c.young, &c.old} {
		if known, ok := t.byID[l.ID]; ok && known.day > l.day {
			l.day = known.day
		}
	}
	c.keep(l)
}

// keep puts a lane among the young ones. c.mu is held.
func (c *LaneCache) keep(l Lane) {
	if c.young.byKey == nil || len(c.young.byID) >= cmp.Or(c.Most, maxLanes) {
		c.young, c.old = newLaneTable(), c.young
	}
	l.used = l.used || c.old.used[l.QueueID]
	c.young.add(l)
}

func (c *LaneCache) find(key laneKey) (Lane, bool) {
	return c.in(func(t *laneTable) (Lane, bool) { l, ok := t.byKey[key]; return l, ok })
}

// Get returns a lane by its id, if it is known.
func (c *LaneCache) Get(id int32) (Lane, bool) {
	return c.in(func(t *laneTable) (Lane, bool) { l, ok := t.byID[id]; return l, ok })
}

// in looks a lane up. One that was found is young.
func (c *LaneCache) in(look func(*laneTable) (Lane, bool)) (Lane, bool) {
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
func (c *LaneCache) ofQueue(namespace, queue string) []int32 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	name := QueueName{namespace, queue}
	ids := slices.Concat(c.young.queue[name], c.old.queue[name])
	slices.Sort(ids)
	return slices.Compact(ids)
}

// IsUsed reports whether a queue is known to have had a job.
func (c *LaneCache) IsUsed(queue int32) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.young.used[queue] || c.old.used[queue]
}

// SetUsed notes queues of lanes that are known.
func (c *LaneCache) SetUsed(queues []int32) {
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

// LanesOf returns the lanes of jobs, and makes those that do not exist. They are made in a
// transaction of their own, never in a caller's, whose locks may live long. With foreign set a
// caller's transaction may hold the last connection of the pool, so a new connection is made for
// it; that happens once a day per lane and process, and one at a time.
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
		if l, ok := found[keyOf(job)]; ok {
			lanes[i] = l
		}
		if lanes[i].ID == 0 {
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

func compareLaneKeys(a, b laneKey) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.kind, b.kind),
		cmp.Compare(a.Priority, b.Priority))
}

// internLanes makes lanes that do not exist, and says of the others that they are used today.
func (s *Store) internLanes(ctx context.Context, keys []laneKey, foreign bool) (map[laneKey]Lane, error) {
	slices.SortFunc(keys, compareLaneKeys)
	keys = slices.Compact(keys)
	var namespaces, queues, kinds []string
	var priorities []int32
	for _, k := range keys {
		namespaces, queues, kinds = append(namespaces, k.Namespace), append(queues, k.Queue), append(kinds, k.kind)
		priorities = append(priorities, k.Priority)
	}
	today := s.Today()
	// What was read is published only once it is committed.
	var found []Lane
	work := func(tx pgx.Tx) error {
		t := pg.Session{DB: s.DB, Tx: tx}
		if err := t.Run(ctx, "queues_intern", nil, namespaces, queues); err != nil {
			return err
		}
		if err := t.Run(ctx, "lanes_intern", nil, namespaces, queues, kinds, priorities, today); err != nil {
			return err
		}
		found = found[:0]
		err := t.Run(ctx, "lanes_named", func(r pg.Row) error {
			l, err := ScanLane(r)
			l.used, l.day = l.used || foreign, today
			found = append(found, l)
			return err
		}, namespaces, queues, kinds, priorities)
		if err != nil || !foreign {
			return err
		}
		ids := make([]int32, len(found))
		for i, l := range found {
			ids[i] = l.QueueID
		}
		return t.Run(ctx, "queues_used_soon", nil, ids, s.Micros())
	}
	commit := func() error { return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error { return work(t.Tx) }) }
	if foreign {
		conn, err := pgx.ConnectConfig(ctx, s.ConnConfig())
		if err != nil {
			return nil, err
		}
		defer func() { _ = conn.Close(ctx) }() // nothing depends on it
		commit = func() error { return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{BeginQuery: pg.BeginHot}, work) }
	}
	err := pg.RetryOnConflict(ctx, commit)
	if pg.CodeOf(err) == pg.CodeForeignKey { // an unused queue was removed between the two statements
		err = pg.RetryOnConflict(ctx, commit)
	}
	if err != nil {
		return nil, err
	}
	lanes := make(map[laneKey]Lane, len(found))
	for _, l := range found {
		s.Lanes.Add(l)
		lanes[l.laneKey] = l
	}
	return lanes, nil
}

// ScanLane reads a row of the table lane.
func ScanLane(r pg.Row) (l Lane, err error) {
	err = r.Scan(&l.ID, &l.QueueID, &l.Namespace, &l.Queue, &l.kind, &l.Priority, &l.used)
	return l, err
}

// CacheLane notes what a row of the table lane says.
func (s *Store) CacheLane(r pg.Row) error {
	l, err := ScanLane(r)
	if err == nil {
		s.Lanes.Add(l)
	}
	return err
}

// KnowLanes makes sure that the lanes with these ids are in the cache.
func (s *Store) KnowLanes(ctx context.Context, ids []int32) error {
	var missing []int32
	for _, id := range ids {
		if _, ok := s.Lanes.Get(id); !ok {
			missing = append(missing, id)
		}
	}
	if missing == nil {
		return nil
	}
	return s.Send(ctx, pg.Statement{Name: "lanes_by_id", Args: []any{missing}, Each: s.CacheLane})
}

// Describe fills in what a job's lane says.
func (s *Store) Describe(job *store.Job, id int32) error {
	l, ok := s.Lanes.Get(id)
	if !ok {
		return fmt.Errorf("%w: job %s is in the unknown lane %d", store.ErrSchema, job.ID, id)
	}
	job.Namespace, job.Queue, job.Priority = l.Namespace, l.Queue, int(l.Priority)
	job.Kind, job.Version, _ = strings.Cut(l.kind, "@")
	return nil
}
