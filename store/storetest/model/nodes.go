package model

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// nodesKept is how long a node that ended is listed.
const nodesKept = 24 * time.Hour

// Join implements store.Nodes.
func (s *Store) Join(ctx context.Context, info store.NodeInfo) (int64, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	id := int64(1)
	for known := range s.nodes {
		id = max(id, known+1)
	}
	info.Queues, info.Kinds = slices.Clone(info.Queues), slices.Clone(info.Kinds)
	s.nodes[id] = &store.Node{ID: id, Info: info, StartedAt: now, BeatAt: now}
	return id, nil
}

// Beat implements store.Nodes.
func (s *Store) Beat(ctx context.Context, params store.BeatParams) (store.Beat, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return store.Beat{}, err
	}
	defer s.mu.Unlock()
	if !s.alive(params.Node) {
		return store.Beat{}, store.ErrNodeDead
	}
	s.nodes[params.Node].BeatAt = now
	if params.LeaderTTL > 0 {
		if s.leads(params.Node, now) {
			s.leader.expires = now.Add(params.LeaderTTL)
		} else if !s.leader.expires.After(now) {
			s.leader.node, s.leader.expires = params.Node, now.Add(params.LeaderTTL)
			s.leader.epoch++
		}
	}
	beat := store.Beat{Leader: s.leads(params.Node, now)}
	if beat.Leader {
		beat.Epoch = s.leader.epoch
		if params.DeadAfter > 0 {
			beat.Work = s.work(now, params.DeadAfter)
		}
	}
	for _, j := range s.runningOn(params.Node) {
		if j.cancel != nil {
			beat.Cancels = append(beat.Cancels, *j.cancel)
		}
		if j.pause != nil {
			beat.Pauses = append(beat.Pauses, j.ID)
		}
	}
	return beat, nil
}

// work is what there is to do. A store may tell of more.
func (s *Store) work(now time.Time, deadAfter time.Duration) store.Work {
	var w store.Work
	for parent := range s.closed {
		w.CloseChildren = w.CloseChildren || slices.ContainsFunc(s.unfinishedChildren(parent), (*job).isToClose)
	}
	for _, n := range s.nodes {
		w.Rescue = w.Rescue || n.DeadAt.IsZero() && now.Sub(n.BeatAt) >= deadAfter
	}
	w.SweepCancels = len(s.selected((*job).leftAsked)) > 0
	return w
}

// Leave implements store.Nodes.
func (s *Store) Leave(ctx context.Context, id int64) error {
	now, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	if !s.alive(id) {
		return nil
	}
	for _, j := range s.runningOn(id) {
		s.end(j, s.taken(j, ending{state: store.Available, reason: store.ReasonReleased, runAt: now}), now)
	}
	s.nodes[id].DeadAt = now
	if s.leader.node == id {
		s.leader.expires = now
	}
	return nil
}

// Nodes implements store.Nodes.
func (s *Store) Nodes(ctx context.Context) ([]store.Node, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var alive, ended []store.Node
	for _, n := range s.nodes {
		node := *n
		node.Info.Queues, node.Info.Kinds = slices.Clone(n.Info.Queues), slices.Clone(n.Info.Kinds)
		node.Running = len(s.runningOn(n.ID))
		node.Leader = s.leads(n.ID, now)
		switch {
		case n.DeadAt.IsZero():
			alive = append(alive, node)
		case now.Sub(n.DeadAt) < nodesKept:
			ended = append(ended, node)
		}
	}
	byID := func(a, b store.Node) int { return cmp.Compare(a.ID, b.ID) }
	slices.SortFunc(alive, byID)
	slices.SortFunc(ended, byID)
	return append(alive, ended...), nil
}

func (s *Store) alive(node int64) bool {
	n := s.nodes[node]
	return n != nil && n.DeadAt.IsZero()
}

func (s *Store) leads(node int64, now time.Time) bool {
	return s.leader.node == node && s.leader.expires.After(now)
}

func (s *Store) runningOn(node int64) []*job {
	return s.selected(func(j *job) bool { return j.state == store.Running && j.lease.Node == node })
}
