package sqlite

import (
	"fmt"
	"strings"
	"sync"

	"github.com/holdfastdev/holdfast/store"
)

// lane is what a claim chooses by: the jobs of one kind and priority in one queue.
type lane struct {
	laneName
	id    int64
	queue int64 // the queue's id

	base, version string // of the kind
}

// laneName is what a lane stands for. The kind is "kind@version" for jobs that are bound to a version of it, as ClaimParams.Kinds says it.
type laneName struct {
	namespace, queueName, kind string
	priority                   int
}

// bound returns the kind as lanes name it.
func bound(kind, version string) string {
	if version == "" {
		return kind
	}
	return kind + "@" + version
}

// describe makes a job say what its lane says.
func (l *lane) describe(job *store.Job) {
	job.Namespace, job.Queue, job.Priority = l.namespace, l.queueName, l.priority
	job.Kind, job.Version = l.base, l.version
}

func newLane(id, queue int64, name laneName) *lane {
	l := &lane{laneName: name, id: id, queue: queue}
	l.base, l.version, _ = strings.Cut(name.kind, "@")
	return l
}

// laneCache knows lanes that are committed. A lane is never changed or removed, so that what is here stays true.
type laneCache struct {
	mu     sync.RWMutex
	byName map[laneName]*lane
	byID   map[int64]*lane
}

// newLanes are the lanes that one transaction interned. They are known to others once it has committed.
type newLanes []*lane

func (c *laneCache) named(name laneName) *lane {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.byName[name]
}

func (c *laneCache) numbered(id int64) *lane {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.byID[id]
}

func (c *laneCache) publish(lanes newLanes) {
	if len(lanes) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName == nil {
		c.byName, c.byID = map[laneName]*lane{}, map[int64]*lane{}
	}
	for _, l := range lanes {
		c.byName[l.laneName], c.byID[l.id] = l, l
	}
}

// lane returns the lane with a name, which is interned if it is new.
func (t *tx) lane(name laneName) (*lane, error) {
	if l := t.store.lanes.named(name); l != nil {
		return l, nil
	}
	for _, l := range t.lanes {
		if l.laneName == name {
			return l, nil
		}
	}
	queue, err := t.queue(name.namespace, name.queueName)
	if err != nil {
		return nil, err
	}
	s := t.stmt("lane_id")
	s.bindInt(queue)
	s.bindText(name.kind)
	s.bindInt(int64(name.priority))
	found, err := s.next()
	if err != nil {
		return nil, err
	}
	if !found {
		s = t.stmt("lane_insert")
		s.bindInt(queue)
		s.bindText(name.kind)
		s.bindInt(int64(name.priority))
		if found, err = s.next(); err != nil || !found {
			return nil, unexpected("lane_insert", err)
		}
	}
	l := newLane(s.readInt(), queue, name)
	s.done()
	t.lanes = append(t.lanes, l)
	return l, nil
}

// queue returns the id of a queue, which is made if it is new.
func (t *tx) queue(namespace, name string) (int64, error) {
	s := t.stmt("queue_id")
	s.bindText(namespace)
	s.bindText(name)
	found, err := s.next()
	if err != nil {
		return 0, err
	}
	if !found {
		s = t.stmt("queue_insert")
		s.bindText(namespace)
		s.bindText(name)
		s.bindInt(t.now)
		if found, err = s.next(); err != nil || !found {
			return 0, unexpected("queue_insert", err)
		}
	}
	defer s.done()
	return s.readInt(), nil
}

// laneOf returns the lane with an id.
func (t *tx) laneOf(id int64) (*lane, error) {
	if l := t.store.lanes.numbered(id); l != nil {
		return l, nil
	}
	for _, l := range t.lanes {
		if l.id == id {
			return l, nil
		}
	}
	s := t.stmt("lane_by_id")
	s.bindInt(id)
	found, err := s.next()
	if err != nil || !found {
		return nil, unexpected("lane_by_id", err)
	}
	defer s.done()
	queue := s.readInt()
	l := newLane(id, queue, laneName{s.readText(), s.readText(), s.readText(), int(s.readInt())})
	t.lanes = append(t.lanes, l)
	return l, nil
}

// unexpected is the error of a statement that had to return a row: its own, or a mistake in this package.
func unexpected(statement string, err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: %s returned nothing", store.ErrInvalid, statement)
}
