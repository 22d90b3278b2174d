package machine

import (
	"context"
	"maps"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Stores that are broken in what they make of nodes, clocks and requests.

// beats changes what is asked by a beat, or what it is answered.
type beats struct {
	store.Store
	before func(*store.BeatParams)
	after  func(*store.Beat)
}

func onBeat(after func(*store.Beat)) func(store.Store) store.Store {
	return func(s store.Store) store.Store { return &beats{s, func(*store.BeatParams) {}, after} }
}

func onBeatParams(before func(*store.BeatParams)) func(store.Store) store.Store {
	return func(s store.Store) store.Store { return &beats{s, before, func(*store.Beat) {}} }
}

func (s *beats) Beat(ctx context.Context, p store.BeatParams) (store.Beat, error) {
	s.before(&p)
	beat, err := s.Store.Beat(ctx, p)
	s.after(&beat)
	return beat, err
}

func eachNode(f func(*store.NodeBeat)) func(*store.Beat) {
	return func(b *store.Beat) {
		for i := range b.Nodes {
			f(&b.Nodes[i])
		}
	}
}

func noDue(o *store.Outcome) {
	if o.Final == store.Waiting {
		o.Due = time.Time{}
	}
}

func cutRunTime(q *store.Enqueue) {
	if q.Job.RunAt.Equal(env.BeyondTime) {
		q.Job.RunAt = time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)
	}
}

func cutTime(o *store.Outcome) {
	if o.RunAt.Equal(env.BeyondTime) {
		o.RunAt = time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)
	}
}

// finishesNothing says that jobs have ended from outside which it has left as they are.
type finishesNothing struct{ store.Store }

func (s *finishesNothing) Finish(_ context.Context, p store.FinishParams) ([]store.Result, []store.Wake, error) {
	results := p.Results()
	for i, r := range results {
		if r.Err == nil {
			results[i].State, results[i].Ended = p.Ends[i].State, true
		}
	}
	return results, nil, nil
}

type forgetful struct{ store.Store }

func (s *forgetful) Join(ctx context.Context, info store.NodeInfo) (int64, error) {
	info.Policies = nil
	return s.Store.Join(ctx, info)
}

// impatient halves what a node promises to wait.
type impatient struct{ store.Store }

func (s *impatient) Join(ctx context.Context, info store.NodeInfo) (int64, error) {
	info.Policies = maps.Clone(info.Policies)
	for kind, p := range info.Policies {
		p.Delays, p.Backoff.Base = nil, p.Backoff.Base/2
		info.Policies[kind] = p
	}
	return s.Store.Join(ctx, info)
}

// buries takes whoever is named for dead, whatever he was last seen to do.
type buries struct{ store.Store }

func (s *buries) Rescue(ctx context.Context, p store.RescueParams) (store.Rescued, error) {
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return store.Rescued{}, err
	}
	p.Dead = append([]store.NodeBeat(nil), p.Dead...)
	for i := range p.Dead {
		for _, n := range nodes {
			if n.ID == p.Dead[i].Node {
				p.Dead[i].At = n.BeatAt
			}
		}
	}
	return s.Store.Rescue(ctx, p)
}

// rescuesOnce takes from a node what fits into one call, and forgets the rest.
type rescuesOnce struct{ store.Store }

func (s *rescuesOnce) Rescue(ctx context.Context, p store.RescueParams) (store.Rescued, error) {
	if len(p.Dead) == 0 {
		return store.Rescued{}, nil
	}
	return s.Store.Rescue(ctx, p)
}

// clings keeps the first lease of those that are to be given up.
type clings struct{ store.Store }

func (s *clings) Rescue(ctx context.Context, p store.RescueParams) (store.Rescued, error) {
	if len(p.Lost) > 0 {
		p.Lost = p.Lost[1:]
	}
	return s.Store.Rescue(ctx, p)
}

// despairs gives up whatever runs there, whichever lease is named.
type despairs struct{ store.Store }

func (s *despairs) Rescue(ctx context.Context, p store.RescueParams) (store.Rescued, error) {
	p.Lost = append([]store.Lease(nil), p.Lost...)
	for i := range p.Lost {
		if r, err := s.Get(ctx, "", p.Lost[i].Job); err == nil && r.State == store.Running {
			p.Lost[i] = r.Lease
		}
	}
	return s.Store.Rescue(ctx, p)
}

// sweepsAll makes whatever was asked to cancel available again, though it has had its chance.
type sweepsAll struct{ store.Store }

func (s *sweepsAll) SweepCancels(ctx context.Context) (store.Swept, error) {
	page, err := s.List(ctx, store.ListParams{Limit: 1000})
	if err != nil {
		return store.Swept{}, err
	}
	for _, r := range page.Jobs {
		if r.CancelRequested && r.State != store.Running {
			if _, _, err := s.Cancel(ctx, store.CancelParams{Jobs: []store.ID{r.ID}}); err != nil {
				return store.Swept{}, err
			}
		}
	}
	return s.Store.SweepCancels(ctx)
}

// closesOnce forgets that those that ended may have children.
type closesOnce struct{ store.Store }

func (s *closesOnce) CloseChildren(ctx context.Context, limit int) (store.Closed, error) {
	closed, err := s.Store.CloseChildren(ctx, limit)
	closed.More = len(closed.Ended)+len(closed.Running) == limit
	return closed, err
}

// retiresAll lists no queue any more once it was asked to remove what is over.
type retiresAll struct {
	store.Store
	retired bool
}

func (s *retiresAll) Retain(ctx context.Context, p store.Retention) (store.Retained, error) {
	s.retired = true
	return s.Store.Retain(ctx, p)
}

func (s *retiresAll) Queues(ctx context.Context, namespace string) ([]store.Queue, error) {
	if s.retired {
		return nil, nil
	}
	return s.Store.Queues(ctx, namespace)
}

// restarts takes a process that joins again for a new one.
type restarts struct{ store.Store }

func (s *restarts) Join(ctx context.Context, info store.NodeInfo) (int64, error) {
	info.Was = 0
	return s.Store.Join(ctx, info)
}

// revives makes nodes quiet that were asked to drain, so that they can be asked for something else.
type revives struct{ store.Store }

func (s *revives) AskNode(ctx context.Context, p store.AskNodeParams) error {
	if p.Mode == store.NodeDrains {
		p.Mode = store.NodeQuiet
	}
	return s.Store.AskNode(ctx, p)
}
