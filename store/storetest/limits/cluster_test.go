package limits

import (
	"context"
	"errors"
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// TestClusterNotices breaks the store, or the nodes, in ways that the cluster must notice, each
// within few seeds.
func TestClusterNotices(t *testing.T) {
	t.Parallel()
	same := func(s store.Store) store.Store { return s }
	for name, c := range map[string]struct {
		breaks func(store.Store) store.Store
		nodes  func(*cluster)
	}{
		"nodes that go on while they ask": {same, func(c *cluster) { c.floors = false }},
		"a store without floors":          {func(s store.Store) store.Store { return &noFloor{s} }, nil},
		"a store without call numbers":    {func(s store.Store) store.Store { return &noNumber{Store: s} }, nil},
		"a dead node that is answered":    {func(s store.Store) store.Store { return &zombies{s} }, nil},
		"no sweep":                        {func(s store.Store) store.Store { return &noSweep{s} }, nil},
		"one statement, which adds up what was there before it had the lock": {
			func(s store.Store) store.Store { return &oneStatement{Store: s} }, nil,
		},
		"demands that are not kept to": {func(s store.Store) store.Store { return &greedy{s} }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(30) {
				e := env.New(t, func(_ *testing.T, clock *env.Clock) store.Store { return c.breaks(model.New(clock.Now)) })
				cluster := newCluster(e, seed)
				if c.nodes != nil {
					c.nodes(cluster)
				}
				err := cluster.run(400)
				if errors.Is(err, errBroken) {
					t.Logf("seed %d: %v", seed, err)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			t.Error("it is not noticed")
		})
	}
}

// TestCluster: nothing is noticed where nothing is broken.
func TestCluster(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		e := env.New(t, func(_ *testing.T, clock *env.Clock) store.Store { return model.New(clock.Now) })
		if err := newCluster(e, seed).run(400); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// noFloor lowers what a node holds below what it keeps.
type noFloor struct{ store.Store }

func (s *noFloor) Grant(ctx context.Context, params store.GrantParams) ([]store.Grant, error) {
	params.Asks = append([]store.LimitAsk(nil), params.Asks...)
	for i := range params.Asks {
		params.Asks[i].Keep = 0
	}
	return s.Store.Grant(ctx, params)
}

// noNumber takes calls as they come.
type noNumber struct {
	store.Store
	calls int64
}

func (s *noNumber) Grant(ctx context.Context, params store.GrantParams) ([]store.Grant, error) {
	s.calls++
	params.Call = s.calls
	return s.Store.Grant(ctx, params)
}

// impostor lets a new node hold what another one would, for ever: it is not a node of the cluster,
// and beats whenever somebody rescues.
func impostor(ctx context.Context, s store.Store, asks []store.LimitAsk) error {
	node, err := s.Join(ctx, store.NodeInfo{Name: "impostor"})
	if err == nil {
		_, err = s.Grant(ctx, store.GrantParams{Node: node, Call: 1, Asks: asks})
	}
	return err
}

func keepImpostors(ctx context.Context, s store.Store) error {
	nodes, err := s.Nodes(ctx)
	for _, n := range nodes {
		if n.Info.Name == "impostor" && n.DeadAt.IsZero() && err == nil {
			_, err = s.Beat(ctx, store.BeatParams{Node: n.ID})
		}
	}
	return err
}

// zombies lets a dead node's call bring its row back, which nobody sweeps again.
type zombies struct{ store.Store }

func (s *zombies) Grant(ctx context.Context, params store.GrantParams) ([]store.Grant, error) {
	granted, err := s.Store.Grant(ctx, params)
	if errors.Is(err, store.ErrNodeDead) {
		return nil, impostor(ctx, s.Store, params.Asks)
	}
	return granted, err
}

func (s *zombies) Nodes(ctx context.Context) ([]store.Node, error) {
	if err := keepImpostors(ctx, s.Store); err != nil {
		return nil, err
	}
	return s.Store.Nodes(ctx)
}

// noSweep leaves what dead nodes hold where it is.
type noSweep struct{ store.Store }

func (s *noSweep) Rescue(ctx context.Context, params store.RescueParams) (store.Rescued, error) {
	before, err := s.Limits(ctx, "", "")
	if err != nil {
		return store.Rescued{}, err
	}
	rescued, err := s.Store.Rescue(ctx, params)
	for _, l := range before {
		for _, h := range l.Holders {
			for _, dead := range rescued.Died {
				if h.Node == dead && err == nil {
					err = impostor(ctx, s.Store, []store.LimitAsk{{Limit: l.ID, Version: l.Version, Want: h.Slots}})
				}
			}
		}
	}
	return rescued, err
}

func (s *noSweep) Nodes(ctx context.Context) ([]store.Node, error) {
	if err := keepImpostors(ctx, s.Store); err != nil {
		return nil, err
	}
	return s.Store.Nodes(ctx)
}

// oneStatement gives out what was there when the call before was made.
type oneStatement struct {
	store.Store
	seen []store.Limit
}

func (s *oneStatement) Grant(ctx context.Context, params store.GrantParams) ([]store.Grant, error) {
	params.Asks = append([]store.LimitAsk(nil), params.Asks...)
	for i := range params.Asks {
		a := &params.Asks[i]
		for _, l := range s.seen {
			if l.ID != a.Limit {
				continue
			}
			others := 0
			for _, h := range l.Holders {
				if h.Node != params.Node {
					others += h.Slots
				}
			}
			a.Keep = a.Share(l.Capacity, others)
		}
	}
	var err error
	if s.seen, err = s.Limits(ctx, "", ""); err != nil {
		return nil, err
	}
	return s.Store.Grant(ctx, params)
}

// greedy takes a demand for a kind for one of its queue.
type greedy struct{ store.Store }

func (s *greedy) Claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	params.Queues = append([]store.QueueDemand(nil), params.Queues...)
	for i := range params.Queues {
		params.Queues[i].Kind = ""
	}
	return s.Store.Claim(ctx, params)
}
