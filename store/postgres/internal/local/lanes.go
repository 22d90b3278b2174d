package local

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// laneKey is what a lane stands for. The kind is what a store.LaneName makes of it.
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

// Kind is the kind as a store.LaneName makes it.
func (l Lane) Kind() string { return l.kind }

// Limit is the limit per key in which the jobs of the lane count, "" for none.
func (l Lane) Limit() string { return store.ParseLaneName(l.kind).Limit }

// IsFair reports whether the jobs of the lane have fair keys.
func (l Lane) IsFair() bool { return l.isFair() }

func (k *laneKey) isFair() bool { return store.ParseLaneName(k.kind).Shard != "" }

// claimed is the kind as claims name it.
func (k *laneKey) claimed() string {
	if name := store.ParseLaneName(k.kind); name.Limit != "" || name.Shard != "" {
		return name.Claimed()
	}
	return k.kind
}

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
	return laneKey{job.Namespace, job.Queue, job.LaneName().String(), int32(job.Priority)}
}

func compareLaneKeys(a, b laneKey) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.kind, b.kind),
		cmp.Compare(a.Priority, b.Priority))
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
	name := store.ParseLaneName(l.kind)
	job.Kind, job.Version = name.Kind, name.Version
	return nil
}
