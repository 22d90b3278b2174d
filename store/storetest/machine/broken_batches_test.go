package machine

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestTheMachineNoticesBatches breaks what concerns batches of jobs.
func TestTheMachineNoticesBatches(t *testing.T) {
	t.Parallel()
	counts := func(change func(*store.CountedBatches)) func(store.Store) store.Store {
		return func(s store.Store) store.Store { return &countsOther{s, change} }
	}
	for name, breaks := range map[string]func(store.Store) store.Store{
		"a member that is none":        onApply(eachEnqueue(func(q *store.Enqueue) { q.Job.Batch = store.ID{} }), nil),
		"a call that is not marked":    onApply(func(b *store.Batch) { b.Calls = nil }, nil),
		"a call without its jobs":      onApply(callsWithout, nil),
		"a batch that stays open":      func(s store.Store) store.Store { return &leavesOpen{s} },
		"a batch that closes at once":  func(s store.Store) store.Store { return &closesAtOnce{s} },
		"a member that counts twice":   counts(countsTwice),
		"a version that does not grow": func(s store.Store) store.Store { return &firstVersions{s} },
		"a batch that is not told of": counts(func(c *store.CountedBatches) {
			c.Through = c.Through[:max(0, len(c.Through)-1)]
		}),
	} {
		notices(t, name, breaks, mode{batched: true})
	}
}

// callsWithout marks batches as called back, and enqueues nothing.
func callsWithout(b *store.Batch) {
	if len(b.Calls) > 0 {
		b.Enqueues = nil
	}
}

func countsTwice(c *store.CountedBatches) {
	for i := range c.Through {
		if c.Through[i].Counts.Total() > 0 {
			c.Through[i].Counts.Completed++
		}
	}
}

// leavesOpen says that a batch is closed, and leaves it open.
type leavesOpen struct{ store.Store }

func (s *leavesOpen) CloseBatch(ctx context.Context, tx store.Tx, namespace string, id store.ID) error {
	found, err := s.Batches(ctx, store.BatchFilter{Namespace: namespace, ID: id, Limit: 1})
	if err != nil || len(found) > 0 {
		return err
	}
	return s.Store.CloseBatch(ctx, tx, namespace, id)
}

// closesAtOnce takes no members.
type closesAtOnce struct{ store.Store }

func (s *closesAtOnce) CreateBatch(ctx context.Context, tx store.Tx, b store.JobBatch) error {
	return errors.Join(s.Store.CreateBatch(ctx, tx, b), s.CloseBatch(ctx, tx, b.Namespace, b.ID))
}

// firstVersions says of each batch that it has not changed since it was made.
type firstVersions struct{ store.Store }

func (s *firstVersions) Batches(ctx context.Context, filter store.BatchFilter) ([]store.JobBatch, error) {
	found, err := s.Store.Batches(ctx, filter)
	for i := range found {
		found[i].Version = 1
	}
	return found, err
}

// countsOther tells something else of batches whose members are counted.
type countsOther struct {
	store.Store

	change func(*store.CountedBatches)
}

func (s *countsOther) CountBatches(ctx context.Context, params store.CountBatchesParams) (store.CountedBatches, error) {
	counted, err := s.Store.CountBatches(ctx, params)
	counted.Through = slices.Clone(counted.Through)
	s.change(&counted)
	return counted, err
}
