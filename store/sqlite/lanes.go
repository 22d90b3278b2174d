package sqlite

import (
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

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

func (k *knownLanes) note(l *lane) {
	k.read = append(k.read, l)
	k.table.add(l)
}

func (k *knownLanes) use(l *lane) {
	if k.last != nil { // most transactions use one
		if k.used == nil {
			k.used = map[laneName]*lane{}
		}
		k.used[k.last.laneName], k.used[l.laneName] = k.last, l
	}
	k.last = l
}

// lane returns the lane with a name, into which a job is to be put. It is interned if it is new, or
// was removed: what the process remembers of it is looked up once in each transaction. There is one
// writer, so that it stays until the transaction ends, and then has a job.
//
// A day for which what is remembered holds without a look would do if the clock were always right.
func (t *tx) lane(name laneName) (*lane, error) {
	k := &t.lanes
	if k.last != nil && k.last.laneName == name {
		return k.last, nil
	}
	l := k.used[name]
	if l != nil {
		k.last = l
		return l, nil
	}
	there := false
	if l = t.database.lanes.named(name); l != nil {
		var err error
		if there, err = t.useLane(l.id); err != nil {
			return nil, err
		}
	}
	if !there {
		var err error
		if l, err = t.intern(name); err != nil {
			return nil, err
		}
		k.note(l)
	}
	k.use(l)
	return l, nil
}

// day is a day in microseconds.
const day = 24 * 60 * 60 * 1_000_000

// today is the number of the transaction's day.
func (t *tx) today() int64 { return t.now / day }

// useLane keeps a lane from being removed, since a job of it is not finished. It returns false if
// it was removed already.
func (t *tx) useLane(id int64) (there bool, err error) {
	s := t.stmt("lane_used_on")
	s.bindInt(id)
	found, err := s.next()
	if err != nil || !found {
		return false, err
	}
	usedOn, idle := s.readInt(), !s.readNull()
	s.done()
	if usedOn == t.today() && !idle {
		return true, nil
	}
	return true, t.setLaneUsed(id)
}

// setLaneUsed notes that a lane was needed today.
func (t *tx) setLaneUsed(id int64) error {
	s := t.stmt("lane_use")
	s.bindInt(t.today())
	s.bindInt(id)
	return exec(s)
}

// intern finds or makes the lane with a name.
func (t *tx) intern(name laneName) (*lane, error) {
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
	if found {
		id := s.readInt()
		s.done()
		_, err := t.useLane(id)
		return newLane(id, queue, name), err
	}
	s = t.stmt("lane_insert")
	s.bindInt(queue)
	s.bindText(name.kind)
	s.bindInt(int64(name.priority))
	s.bindInt(t.today())
	if found, err = s.next(); err != nil || !found {
		return nil, unexpected("lane_insert", err)
	}
	defer s.done()
	return newLane(s.readInt(), queue, name), nil
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

// laneOf returns the lane with an id. What reads never fails for want of it: a lane that is not
// there, which none is that has a job, has no name.
func (t *tx) laneOf(id int64) (*lane, error) {
	if l := t.database.lanes.numbered(id); l != nil {
		return l, nil
	}
	if l := t.lanes.table.byID[id]; l != nil {
		return l, nil
	}
	s := t.stmt("lane_by_id")
	s.bindInt(id)
	found, err := s.next()
	if err != nil {
		return nil, err
	}
	if !found {
		return &lane{id: id}, nil
	}
	defer s.done()
	queue := s.readInt()
	l := newLane(id, queue, laneName{s.readText(), s.readText(), s.readText(), int(s.readInt())})
	t.lanes.note(l)
	return l, nil
}
