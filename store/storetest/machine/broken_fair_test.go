package machine

import (
	"context"
	"slices"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestTheMachineNoticesFairKeys breaks the turns of fair keys.
func TestTheMachineNoticesFairKeys(t *testing.T) {
	t.Parallel()
	fair := func(key string) func(store.Store) store.Store {
		return func(s store.Store) store.Store { return &fairOther{s, key, map[store.ID]string{}} }
	}
	for name, breaks := range map[string]func(store.Store) store.Store{
		"keys that are not heeded":   fair(""),
		"keys that are all the same": fair("x"),
		"a turn in another order":    func(s store.Store) store.Store { return &turnsOther{s} },
		"keys that are lost":         onApply(eachEnqueue(func(q *store.Enqueue) { q.Job.Options.FairKey = "" }), nil),
	} {
		notices(t, name, breaks, mode{fair: true})
	}
}

// fairOther keeps another fair key of a job than it tells.
type fairOther struct {
	store.Store

	key  string
	said map[store.ID]string
}

func (s *fairOther) Apply(ctx context.Context, b *store.Batch) error {
	all := slices.Clone(b.Enqueues)
	for _, a := range b.Appends {
		all = append(all, a.Enqueues...)
	}
	for _, q := range store.Unfold(all) {
		if key := q.Job.Options.FairKey; key != "" {
			s.said[q.Job.ID], q.Job.Options.FairKey = key, s.key
			defer func() { q.Job.Options.FairKey = key }() // it is the model's, too
		}
	}
	return s.Store.Apply(ctx, b)
}

func (s *fairOther) Claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	claimed, err := s.Store.Claim(ctx, params)
	for i := range claimed {
		claimed[i].Job.Options.FairKey = s.said[claimed[i].Job.ID]
	}
	return claimed, err
}

func (s *fairOther) Get(ctx context.Context, namespace string, id store.ID) (store.Record, error) {
	r, err := s.Store.Get(ctx, namespace, id)
	if err == nil {
		r.Options.FairKey = s.said[id]
	}
	return r, err
}

func (s *fairOther) List(ctx context.Context, params store.ListParams) (store.Page, error) {
	page, err := s.Store.List(ctx, params)
	for i := range page.Jobs {
		page.Jobs[i].Options.FairKey = s.said[page.Jobs[i].ID]
	}
	return page, err
}

// turnsOther gives the places of the first two keys of a claim to each other.
type turnsOther struct{ store.Store }

func (s *turnsOther) Claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	claimed, err := s.Store.Claim(ctx, params)
	at := slices.IndexFunc(claimed, func(c store.Claimed) bool { return c.Job.Options.FairKey != "" })
	for i := at + 1; at >= 0 && i < len(claimed); i++ {
		if claimed[i].Job.Options.FairKey != "" && claimed[i].Job.Options.FairKey != claimed[at].Job.Options.FairKey {
			claimed[at], claimed[i] = claimed[i], claimed[at]
			break
		}
	}
	return claimed, err
}
