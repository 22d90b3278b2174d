package machine

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// TestTheMachineNoticesGates breaks limits per key, and hides it from those who look at the limits.
func TestTheMachineNoticesGates(t *testing.T) {
	t.Parallel()
	capacity := func(change int) func(store.Store) store.Store {
		return func(s store.Store) store.Store { return &gatesOther{s, change, map[string]store.LimitSettings{}} }
	}
	for name, breaks := range map[string]func(store.Store) store.Store{
		"one more than may run":      capacity(1),
		"one fewer than may run":     capacity(-1),
		"a burst of one more":        func(s store.Store) store.Store { return &ratesOther{s, 1, 1, map[string]store.LimitSettings{}} },
		"half of a rate":             func(s store.Store) store.Store { return &ratesOther{s, 0, 2, map[string]store.LimitSettings{}} },
		"a next that is at once":     func(s store.Store) store.Store { return &nextNow{s} },
		"a key that is another one":  func(s store.Store) store.Store { return &keysOther{s} },
		"who runs, but for the last": func(s store.Store) store.Store { return &runningFewer{s} },
		"others that come first":     func(s store.Store) store.Store { return &othersFirst{Store: s} },
		"others that come first in every second claim": func(s store.Store) store.Store {
			return &othersFirst{Store: s, spares: func(claim int) bool { return claim%2 == 1 }}
		},
		"others that come first but in the first claim": func(s store.Store) store.Store {
			return &othersFirst{Store: s, spares: func(claim int) bool { return claim == 0 }}
		},
	} {
		noticesSoon(t, name, breaks, mode{keyed: true, gated: true})
	}
}

// othersFirst leaves jobs alone that count in limits per key, as long as there are others.
type othersFirst struct {
	store.Store

	claims int
	spares func(claim int) bool // in which claims it does not; nil: none
}

func (s *othersFirst) Claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	if s.claims++; s.spares != nil && s.spares(s.claims-1) {
		return s.Store.Claim(ctx, params)
	}
	page, err := s.List(ctx, store.ListParams{
		Filter: store.Filter{Namespace: params.Namespace, States: []store.State{store.Available}}, Limit: 1000,
	})
	if err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(page.Jobs, func(r store.Record) bool { return r.Blocked || r.Options.Limit != "" })
	slices.SortFunc(others, func(a, b store.Record) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.RunAt.Compare(b.RunAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	if len(others) == 0 {
		return s.Store.Claim(ctx, params)
	}
	var ids []store.ID
	for _, r := range others[:min(params.Limit, len(others))] {
		ids = append(ids, r.ID)
	}
	return s.Store.(*model.Store).ClaimBeside(ctx, params, ids) //nolint:errcheck // that is its type
}

// gatesOther bounds keys by another capacity than it says.
type gatesOther struct {
	store.Store

	change int
	said   map[string]store.LimitSettings
}

func (s *gatesOther) by(l store.Limit, change int) store.Limit {
	if l.PerKey && l.Capacity > 0 {
		l.Capacity += change
	}
	return l
}

func (s *gatesOther) SaveLimit(ctx context.Context, l store.Limit, expect int64, actor string) (store.Limit, error) {
	saved, err := s.Store.SaveLimit(ctx, s.by(l, s.change), expect, actor)
	if err == nil {
		s.said[l.Namespace+" "+l.Name], saved.LimitSettings = l.LimitSettings, l.LimitSettings
	}
	return saved, err
}

func (s *gatesOther) Limits(ctx context.Context, namespace, name string) ([]store.Limit, error) {
	all, err := s.Store.Limits(ctx, namespace, name)
	for i := range all {
		all[i].LimitSettings = s.said[all[i].Namespace+" "+all[i].Name]
	}
	return all, err
}

// keysOther tells who runs under another key than it was asked about.
type keysOther struct{ store.Store }

func (s *keysOther) RunningOf(ctx context.Context, namespace, limit, key string, most int) ([]store.ID, error) {
	if key == "y" {
		key = "x"
	}
	return s.Store.RunningOf(ctx, namespace, limit, key, most)
}

// runningFewer leaves out the last job that runs under a key.
type runningFewer struct{ store.Store }

func (s *runningFewer) RunningOf(ctx context.Context, namespace, limit, key string, most int) ([]store.ID, error) {
	ids, err := s.Store.RunningOf(ctx, namespace, limit, key, most)
	return ids[:max(0, len(ids)-1)], err
}

// ratesOther bounds the rates of keys otherwise than it says.
type ratesOther struct {
	store.Store

	more, times int
	said        map[string]store.LimitSettings
}

func (s *ratesOther) SaveLimit(ctx context.Context, l store.Limit, expect int64, actor string) (store.Limit, error) {
	other := l
	if l.PerKey && l.Rate != nil {
		rate := *l.Rate
		rate.Burst, rate.Per = rate.Burst+s.more, rate.Per*time.Duration(s.times)
		other.Rate = &rate
	}
	saved, err := s.Store.SaveLimit(ctx, other, expect, actor)
	if err == nil {
		s.said[l.Namespace+" "+l.Name], saved.LimitSettings = l.LimitSettings, l.LimitSettings
	}
	return saved, err
}

func (s *ratesOther) Limits(ctx context.Context, namespace, name string) ([]store.Limit, error) {
	all, err := s.Store.Limits(ctx, namespace, name)
	for i := range all {
		all[i].LimitSettings = s.said[all[i].Namespace+" "+all[i].Name]
	}
	return all, err
}

// nextNow says that the next job of each key may start at once.
type nextNow struct{ store.Store }

func (s *nextNow) NextOf(context.Context, string, string, string) (time.Time, error) {
	return time.Time{}, nil
}
