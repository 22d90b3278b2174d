package machine

import (
	"context"
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
)

// TestTheMachineNoticesKeys breaks what concerns business keys.
func TestTheMachineNoticesKeys(t *testing.T) {
	t.Parallel()
	durable, lossy := mode{durable: true}, mode{durable: true, lossy: true}
	for name, c := range map[string]struct {
		breaks func(store.Store) store.Store
		mode   mode
	}{
		"a business key that is not looked at": {
			onApply(eachEnqueue(func(q *store.Enqueue) { q.Job.Options.Key, q.Send = "", nil }), nil), mode{},
		},
		"a key that is kept for too long": {onApply(eachEnqueue(keepLonger), nil), mode{}},
		"other args that are not told":    {onApply(nil, eachEnqueue(func(q *store.Enqueue) { q.Result.Differs = false })), mode{}},
		"a holder that is not found":      {func(s store.Store) store.Store { return &findsNothing{s} }, mode{}},
		"a signal that does not go along": {onApply(eachEnqueue(func(q *store.Enqueue) { q.Send = nil }), nil), durable},
		"a signal that is not told":       {onApply(nil, eachEnqueue(forgetSignal)), durable},
		"a repeated signal that is sent again": {
			func(s store.Store) store.Store { return &sendsAgain{Store: s, sent: map[store.ID]bool{}} }, lossy,
		},
	} {
		notices(t, name, c.breaks, c.mode)
	}
}

func keepLonger(q *store.Enqueue) {
	if q.Job.Options.Key != "" {
		q.Job.Options.KeepKey = store.KeepForever
	}
}

func forgetSignal(q *store.Enqueue) {
	if q.Send != nil {
		q.Send.Result = store.SendResult{}
	}
}

type findsNothing struct{ store.Store }

func (s *findsNothing) Find(_ context.Context, key store.JobKey) (store.ID, error) {
	return store.ID{}, refusal.NoKey(key)
}

// sendsAgain does not recognise what went along with a repeated enqueue.
type sendsAgain struct {
	store.Store

	sent map[store.ID]bool
}

func (s *sendsAgain) Apply(ctx context.Context, batch *store.Batch) error {
	err := s.Store.Apply(ctx, batch)
	again := &store.Batch{}
	for _, q := range batch.Enqueues {
		if err == nil && q.Err == nil && q.Send != nil && s.sent[q.Job.ID] {
			again.Sends = append(again.Sends, &store.Send{Job: q.Send.Job, Message: q.Send.Message})
		}
		s.sent[q.Job.ID] = s.sent[q.Job.ID] || err == nil && q.Err == nil && q.Send != nil
	}
	if len(again.Sends) > 0 {
		_ = s.Store.Apply(ctx, again)
	}
	return err
}
