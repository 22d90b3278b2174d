package sqlite

import (
	"github.com/holdfastdev/holdfast/store"
)

// writeCheckpoint stores a run's progress, if its lease is live.
func (t *tx) writeCheckpoint(c *store.CheckpointWrite) error {
	c.Err = nil
	r, err := t.record(recordName{c.Lease.Node, c.Lease.Claim})
	if err != nil {
		return err
	}
	if !r.holds(c.Lease) {
		c.Err = store.LostLease(c.Lease.Job)
		return nil
	}
	if c.Err = c.Check(); c.Err != nil {
		return nil //nolint:nilerr // it is the write's own
	}
	c.Checkpoint.UpdatedAt = timeOf(t.now)
	s := t.stmt("checkpoint_put")
	bindID(s, c.Lease.Job)
	s.bindInt(c.Lease.Number)
	s.bindFloat(c.Checkpoint.Percent)
	s.bindInt(t.now)
	bindOptText(s, c.Checkpoint.Message)
	bindPayload(s, c.Checkpoint.Value)
	return exec(s)
}

// checkpoint returns what a run left, or nil.
func (t *tx) checkpoint(id store.ID) (*store.Checkpoint, error) {
	s := t.stmt("checkpoint")
	bindID(s, id)
	found, err := s.next()
	if err != nil || !found {
		return nil, err
	}
	defer s.done()
	return scanCheckpoint(s), nil
}

func scanCheckpoint(s stmt) *store.Checkpoint {
	return &store.Checkpoint{Percent: s.readFloat(), UpdatedAt: readTime(s), Message: readOptText(s), Value: readOptBlob(s)}
}
