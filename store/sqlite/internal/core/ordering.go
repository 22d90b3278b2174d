package core

import (
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// KeyHolder returns the job that has the turn of an ordering key.
func (t *Tx) KeyHolder(k KeyName) (holder store.ID, held bool, err error) {
	s := t.Stmt("key_holder")
	s.BindInt(k.Queue)
	s.BindText(k.Key)
	held, err = s.Next()
	if held {
		holder = db.ReadID(s)
		s.Done()
	}
	return holder, held, err
}

// awaitTurn puts an available job into the line of its ordering key. If the turn is free the head
// of the line gets it at the end of the transaction: after all that the transaction adds, so that a
// batch is ordered as a whole.
func (t *Tx) awaitTurn(p Pointer) error {
	s := t.Stmt("keyed_insert")
	s.BindInt(p.Lane.Queue)
	s.BindText(p.Key)
	s.BindInt(int64(p.Lane.Priority))
	s.BindInt(p.RunAt)
	db.BindID(s, p.ID)
	s.BindInt(p.Lane.ID)
	t.TouchKey(KeyName{p.Lane.Queue, p.Key})
	return db.Exec(s)
}

// ReleaseTurn takes the turn from a job, if it has it.
func (t *Tx) ReleaseTurn(b *Body) error {
	if b.OrderingKey == "" {
		return nil
	}
	k := KeyName{b.Lane.Queue, b.OrderingKey}
	s := t.Stmt("key_holder_delete")
	s.BindInt(k.Queue)
	s.BindText(k.Key)
	db.BindID(s, b.ID)
	t.TouchKey(k)
	return db.Exec(s)
}

// GiveUpTurn takes the turn from a job that has failed and keeps it, and reports whether it did.
func (t *Tx) GiveUpTurn(b *Body) (had bool, err error) {
	if b.OrderingKey == "" {
		return false, nil
	}
	holder, held, err := t.KeyHolder(KeyName{b.Lane.Queue, b.OrderingKey})
	if err != nil || !held || holder != b.ID {
		return false, err
	}
	return true, t.ReleaseTurn(b)
}

// NoteLined remembers that a job is new: the caller that enqueues it tells the nodes of it.
func (t *Tx) NoteLined(id store.ID) {
	if t.lined == nil {
		t.lined = map[store.ID]bool{}
	}
	t.lined[id] = true
}

// TouchKey has an ordering key handed on that is free at the end of the transaction.
func (t *Tx) TouchKey(k KeyName) {
	if len(t.keys) == 0 || t.keys[len(t.keys)-1] != k {
		t.keys = append(t.keys, k)
	}
}

// handOnKeys gives each touched key that is free to the head of its line. So a line never waits
// without a job that has the turn, whenever the process dies. Nodes are told of jobs that were
// waiting in line.
func (t *Tx) handOnKeys() error {
	keys := t.keys
	t.keys = nil
	done := make(map[KeyName]bool, len(keys))
	keys = slices.DeleteFunc(keys, func(k KeyName) bool {
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

func (t *Tx) handOn(k KeyName) error {
	if _, held, err := t.KeyHolder(k); held || err != nil {
		return err
	}
	s := t.Stmt("keyed_head")
	s.BindInt(k.Queue)
	s.BindText(k.Key)
	found, err := s.Next()
	if err != nil || !found {
		return err
	}
	priority, runAt, id, laneID := s.ReadInt(), s.ReadInt(), db.ReadID(s), s.ReadInt()
	s.Done()

	s = t.Stmt("keyed_delete")
	s.BindInt(k.Queue)
	s.BindText(k.Key)
	s.BindInt(priority)
	s.BindInt(runAt)
	db.BindID(s, id)
	if err := db.Exec(s); err != nil {
		return err
	}
	s = t.Stmt("key_holder_insert")
	s.BindInt(k.Queue)
	s.BindText(k.Key)
	db.BindID(s, id)
	if err := db.Exec(s); err != nil {
		return err
	}
	if t.notesWakes() || !t.lined[id] {
		l, err := t.LaneOf(laneID)
		if err != nil {
			return err
		}
		t.NoteWoken(l)
	}
	s = t.Stmt("ready_insert")
	s.BindInt(laneID)
	s.BindInt(runAt)
	db.BindID(s, id)
	return db.Exec(s)
}
