package sqlite

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

const (
	// retainLimit is how many jobs one Retain removes if it is not told.
	retainLimit = 1000
	// retainChunk is how many it removes in one transaction, so that it never keeps other writers waiting for more than
	// a few milliseconds.
	retainChunk = 200
)

// Retain implements store.Maintenance. Each job is removed as a whole, a few hundred in one transaction. Limit 0 means 1000.
func (s *Store) Retain(ctx context.Context, params store.RetainParams) (store.Retained, error) {
	if params.Limit <= 0 {
		params.Limit = retainLimit
	}
	var retained store.Retained
	for _, kept := range []struct {
		state store.State
		keep  time.Duration
	}{
		{store.Completed, params.Completed}, {store.Failed, params.Failed}, {store.Cancelled, params.Cancelled},
	} {
		if kept.keep <= 0 {
			continue
		}
		for {
			chunk := min(retainChunk, params.Limit-retained.Jobs)
			removed, more, err := s.retain(ctx, kept.state, kept.keep, chunk)
			retained.Jobs += removed
			if err != nil {
				return retained, err
			}
			if !more {
				break
			}
			if retained.Jobs >= params.Limit {
				retained.More = true
				return retained, s.forgetNodes(ctx)
			}
		}
	}
	return retained, s.forgetNodes(ctx)
}

// retain removes up to limit jobs of one state, and tells whether there are more. A limit of 0 only looks.
func (s *Store) retain(ctx context.Context, state store.State, keep time.Duration, limit int) (removed int, more bool, err error) {
	expired := func(t *tx) ([]store.ID, error) {
		var ids []store.ID
		st := t.stmt("expired")
		st.bindInt(int64(state))
		st.bindInt(t.now - keep.Microseconds())
		st.bindInt(int64(limit) + 1)
		return ids, each(st, func() error {
			ids = append(ids, readID(st))
			return nil
		})
	}
	err = s.writeIf(ctx, "retain",
		func(t *tx) (bool, error) {
			ids, err := expired(t)
			removed, more = 0, len(ids) > limit
			return len(ids) > 0 && limit > 0, err
		},
		func(t *tx) error {
			ids, err := expired(t)
			if err != nil {
				return err
			}
			if more = len(ids) > limit; more {
				ids = ids[:limit]
			}
			removed = len(ids)
			for _, id := range ids {
				if err := t.remove(id); err != nil {
					return err
				}
			}
			return nil
		})
	if err != nil {
		return 0, false, err
	}
	return removed, more, nil
}

// remove deletes a finished job with everything that belongs to it. The unique key goes before the body that names it.
func (t *tx) remove(id store.ID) error {
	s := t.stmt("retain_unique_key")
	bindID(s, id)
	bindID(s, id)
	if err := exec(s); err != nil {
		return err
	}
	for _, name := range []string{
		"retain_attempts", "retain_checkpoint", "retain_journal", "retain_inbox", "cancel_request_delete", "pause_request_delete",
		"finished_delete", "job_delete",
	} {
		s := t.stmt(name)
		bindID(s, id)
		if err := exec(s); err != nil {
			return err
		}
	}
	return nil
}

// forgetNodes removes nodes that ended long ago and of whose jobs nothing is left to rescue.
func (s *Store) forgetNodes(ctx context.Context) error {
	forgettable := func(t *tx) ([]int64, error) {
		var nodes []int64
		st := t.stmt("nodes_forgettable")
		st.bindInt(t.now - nodesKept.Microseconds())
		return nodes, each(st, func() error {
			nodes = append(nodes, st.readInt())
			return nil
		})
	}
	return s.writeIf(ctx, "forget nodes",
		func(t *tx) (bool, error) {
			nodes, err := forgettable(t)
			return len(nodes) > 0, err
		},
		func(t *tx) error {
			nodes, err := forgettable(t)
			if err != nil {
				return err
			}
			for _, node := range nodes {
				st := t.stmt("node_delete")
				st.bindInt(node)
				if err := exec(st); err != nil {
					return err
				}
			}
			return nil
		})
}
