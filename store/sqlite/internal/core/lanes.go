package core

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Describe makes a job say what its lane says.
func (l *Lane) Describe(job *store.Job) {
	job.Namespace, job.Queue, job.Priority = l.Namespace, l.QueueName, l.Priority
	job.Kind, job.Version = l.Base, l.Version
}

func newLane(id, queue int64, name LaneName) *Lane {
	l := &Lane{LaneName: name, ID: id, Queue: queue}
	of := store.ParseLaneName(name.Kind)
	l.Base, l.Limit, l.Shard, l.Version, l.Claims = of.Kind, of.Limit, of.Shard, of.Version, of.Claimed()
	return l
}

func (k *knownLanes) note(l *Lane) {
	k.read = append(k.read, l)
	k.table.add(l)
}

func (k *knownLanes) use(l *Lane) {
	if k.last != nil { // most transactions use one
		if k.used == nil {
			k.used = map[LaneName]*Lane{}
		}
		k.used[k.last.LaneName], k.used[l.LaneName] = k.last, l
	}
	k.last = l
}

// Lane returns the lane with a name, into which a job is to be put. It is interned if it is new, or
// was removed: what the process remembers of it is looked up once in each transaction. There is one
// writer, so that it stays until the transaction ends, and then has a job.
//
// A day for which what is remembered holds without a look would do if the clock were always right.
func (t *Tx) Lane(name LaneName) (*Lane, error) { return t.LaneUnless(name, nil) }

// LaneUnless is Lane, but where that has to write anything it asks first whether no job will come
// into the lane: then it is nil, and nothing has changed. So an enqueue that changes nothing makes
// no queue, and keeps none. It is not asked if nothing has to be written, as nearly always.
func (t *Tx) LaneUnless(name LaneName, needless func() (bool, error)) (*Lane, error) {
	k := &t.lanes
	if k.last != nil && k.last.LaneName == name {
		return k.last, nil
	}
	l := k.used[name]
	if l != nil {
		k.last = l
		return l, nil
	}
	there, idle := false, false
	var err error
	if l = t.Database.Lanes.named(name); l != nil {
		if there, idle, err = t.laneUsed(l.ID); err != nil {
			return nil, err
		}
	}
	if needless != nil && (!there || idle) {
		if is, err := needless(); err != nil || is {
			return nil, err
		}
	}
	switch {
	case !there:
		if l, err = t.intern(name); err == nil {
			k.note(l)
		}
	case idle:
		err = t.SetLaneUsed(l.ID)
	}
	if err != nil {
		return nil, err
	}
	k.use(l)
	return l, nil
}

// Day is a day in microseconds.
const Day = 24 * 60 * 60 * 1_000_000

// Today is the number of the transaction's day.
func (t *Tx) Today() int64 { return t.Now / Day }

// laneUsed reports whether there is still a lane, and whether it has to be kept from being removed
// once a job of it is not finished: it was not needed today.
func (t *Tx) laneUsed(id int64) (there, idle bool, err error) {
	s := t.Stmt("lane_used_on")
	s.BindInt(id)
	found, err := s.Next()
	if err != nil || !found {
		return false, false, err
	}
	defer s.Done()
	today, marked := s.ReadInt() == t.Today(), !s.ReadNull()
	return true, !today || marked, nil
}

// keepLane keeps a lane from being removed, since a job of it is not finished.
func (t *Tx) keepLane(id int64) error {
	if there, idle, err := t.laneUsed(id); err != nil || !there || !idle {
		return err
	}
	return t.SetLaneUsed(id)
}

// SetLaneUsed notes that a lane was needed today.
func (t *Tx) SetLaneUsed(id int64) error {
	s := t.Stmt("lane_use")
	s.BindInt(t.Today())
	s.BindInt(id)
	return db.Exec(s)
}

// intern finds or makes the lane with a name.
func (t *Tx) intern(name LaneName) (*Lane, error) {
	queue, err := t.Queue(name.Namespace, name.QueueName)
	if err != nil {
		return nil, err
	}
	s := t.Stmt("lane_id")
	s.BindInt(queue)
	s.BindText(name.Kind)
	s.BindInt(int64(name.Priority))
	found, err := s.Next()
	if err != nil {
		return nil, err
	}
	if found {
		id := s.ReadInt()
		s.Done()
		return newLane(id, queue, name), t.keepLane(id)
	}
	s = t.Stmt("lane_insert")
	s.BindInt(queue)
	s.BindText(name.Kind)
	s.BindInt(int64(name.Priority))
	s.BindInt(t.Today())
	if found, err = s.Next(); err != nil || !found {
		return nil, db.Unexpected("lane_insert", err)
	}
	defer s.Done()
	return newLane(s.ReadInt(), queue, name), nil
}

// Queue returns the id of a queue, which is made if it is new.
func (t *Tx) Queue(namespace, name string) (int64, error) {
	s := t.Stmt("queue_id")
	s.BindText(namespace)
	s.BindText(name)
	found, err := s.Next()
	if err != nil {
		return 0, err
	}
	if !found {
		s = t.Stmt("queue_insert")
		s.BindText(namespace)
		s.BindText(name)
		s.BindInt(t.Now)
		if found, err = s.Next(); err != nil || !found {
			return 0, db.Unexpected("queue_insert", err)
		}
	}
	defer s.Done()
	return s.ReadInt(), nil
}

// LaneOf returns the lane with an id. What reads never fails for want of it: a lane that is not
// there, which none is that has a job, has no name.
func (t *Tx) LaneOf(id int64) (*Lane, error) {
	if l := t.Database.Lanes.numbered(id); l != nil {
		return l, nil
	}
	if l := t.lanes.table.byID[id]; l != nil {
		return l, nil
	}
	s := t.Stmt("lane_by_id")
	s.BindInt(id)
	found, err := s.Next()
	if err != nil {
		return nil, err
	}
	if !found {
		return &Lane{ID: id}, nil
	}
	defer s.Done()
	queue := s.ReadInt()
	l := newLane(id, queue, LaneName{s.ReadText(), s.ReadText(), s.ReadText(), int(s.ReadInt())})
	t.lanes.note(l)
	return l, nil
}

// PausedQueues returns the queues that hand out nothing.
func (t *Tx) PausedQueues() ([]int64, error) {
	var paused []int64
	s := t.Stmt("queues_paused")
	s.BindInt(t.Now)
	return paused, db.Each(s, func() error {
		paused = append(paused, s.ReadInt())
		return nil
	})
}
