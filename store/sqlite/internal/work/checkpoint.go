package work

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// writeCheckpoint stores a run's progress, if its lease is live.
func writeCheckpoint(t *core.Tx, c *store.CheckpointWrite) error {
	c.Err = nil
	r, err := t.Record(core.RecordName{Node: c.Lease.Node, Seq: c.Lease.Claim})
	if err != nil {
		return err
	}
	if !r.Holds(c.Lease) {
		c.Err = store.LostLease(c.Lease.Job)
		return nil
	}
	if c.Err = c.Check(); c.Err != nil {
		return nil //nolint:nilerr // it is the write's own
	}
	c.Checkpoint.UpdatedAt = db.TimeOf(t.Now)
	s := t.Stmt("checkpoint_put")
	db.BindID(s, c.Lease.Job)
	s.BindInt(c.Lease.Number)
	s.BindFloat(c.Checkpoint.Percent)
	s.BindInt(t.Now)
	db.BindOptText(s, c.Checkpoint.Message)
	db.BindPayload(s, c.Checkpoint.Value)
	if err := db.Exec(s); err != nil {
		return err
	}
	return writeMeta(t, c.Lease.Job, c.Meta)
}

// Checkpoint returns what a run left, or nil.
func Checkpoint(t *core.Tx, id store.ID) (*store.Checkpoint, error) {
	s := t.Stmt("checkpoint")
	db.BindID(s, id)
	found, err := s.Next()
	if err != nil || !found {
		return nil, err
	}
	defer s.Done()
	return scanCheckpoint(s), nil
}

func scanCheckpoint(s db.Stmt) *store.Checkpoint {
	return &store.Checkpoint{Percent: s.ReadFloat(), UpdatedAt: db.ReadTime(s), Message: db.ReadOptText(s), Value: db.ReadOptBlob(s)}
}
