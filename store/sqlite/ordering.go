package sqlite

import (
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// keyHolder returns the job that has the turn of an ordering key.
func (t *tx) keyHolder(k keyName) (holder store.ID, held bool, err error) {
	s := t.stmt("key_holder")
	s.bindInt(k.queue)
	s.bindText(k.key)
	held, err = s.next()
	if held {
		holder = readID(s)
		s.done()
	}
	return holder, held, err
}

// awaitTurn puts an available job into the line of its ordering key. If nobody has the turn the head of the line gets
// it when the transaction settles: after all that the transaction adds, so that a batch is ordered as a whole.
func (t *tx) awaitTurn(p pointer) error {
	s := t.stmt("keyed_insert")
	s.bindInt(p.lane.queue)
	s.bindText(p.key)
	s.bindInt(int64(p.lane.priority))
	s.bindInt(p.runAt)
	bindID(s, p.id)
	s.bindInt(p.lane.id)
	t.touchKey(keyName{p.lane.queue, p.key})
	return exec(s)
}

// releaseTurn takes the turn from a job that finished, if it had it.
func (t *tx) releaseTurn(b *body) error {
	if b.OrderingKey == "" {
		return nil
	}
	k := keyName{b.lane.queue, b.OrderingKey}
	s := t.stmt("key_holder_delete")
	s.bindInt(k.queue)
	s.bindText(k.key)
	bindID(s, b.ID)
	t.touchKey(k)
	return exec(s)
}

// noteLined remembers that a job is new: whoever enqueues it tells the nodes of it.
func (t *tx) noteLined(id store.ID) {
	if t.lined == nil {
		t.lined = map[store.ID]bool{}
	}
	t.lined[id] = true
}

func (t *tx) touchKey(k keyName) {
	if len(t.keys) == 0 || t.keys[len(t.keys)-1] != k {
		t.keys = append(t.keys, k)
	}
}

// handOnKeys gives each touched key that is free to the head of its line. So a line never waits without somebody who
// has the turn, whenever the process dies. Nodes are told of jobs that were waiting in line.
func (t *tx) handOnKeys() error {
	keys := t.keys
	t.keys = nil
	done := make(map[keyName]bool, len(keys))
	keys = slices.DeleteFunc(keys, func(k keyName) bool {
		seen := done[k]
		done[k] = true
		return seen
	})
	for _, k := range keys {
		if err := t.handOn(k); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) handOn(k keyName) error {
	if _, held, err := t.keyHolder(k); held || err != nil {
		return err
	}
	s := t.stmt("keyed_head")
	s.bindInt(k.queue)
	s.bindText(k.key)
	found, err := s.next()
	if err != nil || !found {
		return err
	}
	priority, runAt, id, laneID := s.readInt(), s.readInt(), readID(s), s.readInt()
	s.done()

	s = t.stmt("keyed_delete")
	s.bindInt(k.queue)
	s.bindText(k.key)
	s.bindInt(priority)
	s.bindInt(runAt)
	bindID(s, id)
	if err := exec(s); err != nil {
		return err
	}
	s = t.stmt("key_holder_insert")
	s.bindInt(k.queue)
	s.bindText(k.key)
	bindID(s, id)
	if err := exec(s); err != nil {
		return err
	}
	if !t.lined[id] {
		l, err := t.laneOf(laneID)
		if err != nil {
			return err
		}
		t.noteWoken(l)
	}
	s = t.stmt("ready_insert")
	s.bindInt(laneID)
	s.bindInt(runAt)
	bindID(s, id)
	return exec(s)
}
