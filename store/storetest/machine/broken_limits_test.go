package machine

import (
	"context"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestTheMachineNoticesLimits breaks what concerns limits, and claims by demands for kinds.
func TestTheMachineNoticesLimits(t *testing.T) {
	t.Parallel()
	limited := mode{limited: true}
	grants := func(change func(*store.GrantParams)) func(store.Store) store.Store {
		return func(s store.Store) store.Store { return &grantsOther{s, change} }
	}
	for name, c := range map[string]struct {
		breaks func(store.Store) store.Store
		mode   mode
	}{
		"no floor":                         {grants(eachAsk(func(a *store.LimitAsk) { a.Keep = 0 })), limited},
		"no call number":                   {renumbered, limited},
		"no more than is kept":             {grants(eachAsk(func(a *store.LimitAsk) { a.Want = a.Keep })), limited},
		"a version that is not compared":   {func(s store.Store) store.Store { return &anyLimitVersion{s} }, limited},
		"one ask of many":                  {grants(func(p *store.GrantParams) { p.Asks = p.Asks[:min(len(p.Asks), 1)] }), limited},
		"no sweep":                         {func(s store.Store) store.Store { return &sweepsNothing{s} }, limited},
		"a dead node that is answered":     {func(s store.Store) store.Store { return &answersDead{s} }, limited},
		"a limit that is deleted though":   {func(s store.Store) store.Store { return &deletesHeld{s} }, limited},
		"wishes that are not told":         {func(s store.Store) store.Store { return &wishless{s} }, limited},
		"demands for kinds that are not":   {func(s store.Store) store.Store { return &claimsQueues{s} }, mode{}},
		"a demand for all that is one too": {func(s store.Store) store.Store { return &claimsNamed{s} }, mode{}},
	} {
		noticesSoon(t, name, c.breaks, c.mode)
	}
}

// grantsOther is asked something else.
type grantsOther struct {
	store.Store

	change func(*store.GrantParams)
}

func eachAsk(change func(*store.LimitAsk)) func(*store.GrantParams) {
	return func(p *store.GrantParams) {
		for i := range p.Asks {
			change(&p.Asks[i])
		}
	}
}

func (s *grantsOther) Grant(ctx context.Context, params store.GrantParams) ([]store.Grant, error) {
	params.Asks = append([]store.LimitAsk(nil), params.Asks...)
	s.change(&params)
	return s.Store.Grant(ctx, params)
}

// renumbered takes calls as they come.
func renumbered(s store.Store) store.Store {
	call := int64(0)
	return &grantsOther{s, func(p *store.GrantParams) { call++; p.Call = call }}
}

type anyLimitVersion struct{ store.Store }

func (s *anyLimitVersion) Grant(ctx context.Context, params store.GrantParams) ([]store.Grant, error) {
	all, err := s.Limits(ctx, "", "")
	if err != nil {
		return nil, err
	}
	params.Asks = append([]store.LimitAsk(nil), params.Asks...)
	for i := range params.Asks {
		for _, l := range all {
			if l.ID == params.Asks[i].Limit {
				params.Asks[i].Version = l.Version
			}
		}
	}
	return s.Store.Grant(ctx, params)
}

// sweepsNothing goes on to tell that nodes which are gone hold slots.
type sweepsNothing struct{ store.Store }

func (s *sweepsNothing) Leave(ctx context.Context, node int64) ([]store.Wake, error) {
	all, err := s.Limits(ctx, "", "")
	if err != nil {
		return nil, err
	}
	wakes, err := s.Store.Leave(ctx, node)
	for _, l := range all {
		for _, h := range l.Holders {
			if h.Node == node && err == nil { // somebody else holds them instead
				var other int64
				if other, err = s.Join(ctx, store.NodeInfo{}); err == nil {
					ask := store.LimitAsk{Limit: l.ID, Version: l.Version, Keep: h.Slots, Want: h.Slots}
					_, err = s.Grant(ctx, store.GrantParams{Node: other, Call: 1, Asks: []store.LimitAsk{ask}})
				}
			}
		}
	}
	return wakes, err
}

// answersDead lets a node that does not live ask under another name.
type answersDead struct{ store.Store }

func (s *answersDead) Grant(ctx context.Context, params store.GrantParams) ([]store.Grant, error) {
	granted, err := s.Store.Grant(ctx, params)
	if err == nil {
		return granted, nil
	}
	if params.Node, err = s.Join(ctx, store.NodeInfo{}); err != nil {
		return nil, err
	}
	return s.Store.Grant(ctx, params)
}

type deletesHeld struct{ store.Store }

func (s *deletesHeld) DeleteLimit(ctx context.Context, namespace, name string, _ bool, actor string) error {
	return s.Store.DeleteLimit(ctx, namespace, name, true, actor)
}

// wishless tells of no wishes.
type wishless struct{ store.Store }

func (s *wishless) Limits(ctx context.Context, namespace, name string) ([]store.Limit, error) {
	all, err := s.Store.Limits(ctx, namespace, name)
	for i := range all {
		all[i].Wishes = nil
	}
	return all, err
}

// claimsQueues takes a demand for a kind for one of its queue.
type claimsQueues struct{ store.Store }

func (s *claimsQueues) Claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	params.Queues = append([]store.QueueDemand(nil), params.Queues...)
	for i := range params.Queues {
		params.Queues[i].Kind = ""
	}
	return s.Store.Claim(ctx, params)
}

// claimsNamed takes nothing by demands that name no queue.
type claimsNamed struct{ store.Store }

func (s *claimsNamed) Claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	if params.Queues != nil {
		named := []store.QueueDemand{}
		for _, d := range params.Queues {
			if d.Name != "" {
				named = append(named, d)
			}
		}
		params.Queues = named
	}
	return s.Store.Claim(ctx, params)
}
