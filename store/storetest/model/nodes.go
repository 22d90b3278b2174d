package model

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/storetest/model/copyof"
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
	n := &store.Node{ID: id, Info: copyof.NodeInfo(info), StartedAt: now, BeatAt: now, Mode: info.Mode}
	if was := s.nodes[info.Was]; was != nil && !s.gone[info.Was] {
		n.Mode, n.ModeAt, n.ModeBy = was.Mode, was.ModeAt, was.ModeBy
	}
	n.Info.Was, n.Info.Mode = 0, store.NodeRuns
	s.nodes[id] = n
	return id, nil
}

// AskNode implements store.Nodes.
func (s *Store) AskNode(ctx context.Context, params store.AskNodeParams) error {
	if err := params.Check(); err != nil {
		return err
	}
	now, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	switch n := s.nodes[params.Node]; {
	case n == nil, s.gone[params.Node]:
		return refusal.NoNode(params.Node)
	case !n.DeadAt.IsZero():
		return refusal.DeadNode(params.Node)
	case n.Mode == params.Mode:
	case n.Mode == store.NodeDrains:
		return refusal.NodeIsDraining(params.Node)
	default:
		n.Mode, n.ModeAt, n.ModeBy = params.Mode, now, params.Actor
		s.audit(now, store.AuditEntry{
			Actor: params.Actor, Action: params.Action(), Target: store.AuditTarget{Kind: store.AuditNode, Name: strconv.FormatInt(params.Node, 10)},
		})
	}
	return nil
}

// Beat implements store.Nodes.
func (s *Store) Beat(ctx context.Context, params store.BeatParams) (store.Beat, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return store.Beat{}, err
	}
	defer s.mu.Unlock()
	if !s.alive(params.Node) {
		return store.Beat{}, refusal.DeadNode(params.Node)
	}
	n := s.nodes[params.Node]
	n.BeatAt, n.Unwell = now, slices.Clone(params.Unwell)
	if params.LeaderTTL > 0 {
		s.stand(params.Node, now, params.LeaderTTL)
	}
	beat := store.Beat{Mode: n.Mode, At: now, Leader: s.leads(params.Node, now)}
	if beat.Leader {
		beat.Epoch = s.leader.epoch
		if params.Lead {
			beat.Nodes, beat.Work = s.lastBeats(params.Node), s.work()
		}
	}
	for _, j := range s.runningOn(params.Node) {
		if j.cancel != nil {
			beat.Cancels = append(beat.Cancels, *j.cancel)
		}
		if j.pause != nil {
			beat.Pauses = append(beat.Pauses, j.ID)
		}
		if asked := params.Held; slices.Contains(asked.Claims, j.lease.Claim) || j.lease.Claim >= asked.From && j.lease.Claim < asked.To {
			beat.Held = append(beat.Held, j.lease)
		}
	}
	return beat, nil
}

// stand gets or keeps the leader lease for a node, unless another one has it.
func (s *Store) stand(node int64, now time.Time, ttl time.Duration) {
	if !s.leads(node, now) {
		if s.led(now) {
			return
		}
		s.leader.node = node
		s.leader.epoch++
	}
	s.leader.expires, s.leader.length = now.Add(ttl), ttl
}

// led reports whether a node has the leader lease. One that ends later than it could if the clock
// had gone on is free.
func (s *Store) led(now time.Time) bool {
	left := s.leader.expires.Sub(now)
	return left > 0 && left <= s.leader.length
}

func (s *Store) leads(node int64, now time.Time) bool { return s.leader.node == node && s.led(now) }

// lastBeats are those of the nodes that live but for one.
func (s *Store) lastBeats(but int64) []store.NodeBeat {
	var beats []store.NodeBeat
	for _, id := range slices.Sorted(maps.Keys(s.nodes)) {
		if id != but && s.alive(id) {
			beats = append(beats, store.NodeBeat{Node: id, At: s.nodes[id].BeatAt})
		}
	}
	return beats
}

// work is what there is to do. A store may tell of more.
func (s *Store) work() store.Work {
	var w store.Work
	for parent := range s.closed {
		w.CloseChildren = w.CloseChildren || slices.ContainsFunc(s.unfinishedChildren(parent), (*job).isToClose)
	}
	w.CloseChildren = w.CloseChildren || len(s.toTell()) > 0
	for id := range s.nodes {
		w.Rescue = w.Rescue || !s.alive(id) && len(s.runningOn(id)) > 0
	}
	for _, l := range s.limits {
		for node := range l.grants {
			w.Rescue = w.Rescue || s.isOver(node)
		}
	}
	w.SweepCancels = len(s.selected((*job).leftAsked)) > 0
	return w
}

// forgetNodes forgets what people wanted of nodes that ended long ago.
func (s *Store) forgetNodes(now time.Time) {
	for id, n := range s.nodes {
		if !n.DeadAt.IsZero() && now.Sub(n.DeadAt) >= nodesKept && len(s.runningOn(id)) == 0 {
			s.gone[id] = true
		}
	}
}

// ForgetNodes does what Retain does to nodes.
func (s *Store) ForgetNodes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetNodes(s.Now())
}

// Leave implements store.Nodes.
func (s *Store) Leave(ctx context.Context, id int64) ([]store.Wake, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if !s.alive(id) {
		return nil, nil
	}
	for _, j := range s.runningOn(id) {
		s.end(j, s.taken(j, ending{state: store.Available, reason: store.ReasonReleased, runAt: now}), now)
	}
	s.nodes[id].DeadAt, s.nodes[id].Ended = now, store.NodeLeft
	if s.leader.node == id {
		s.leader.node, s.leader.expires = 0, time.Time{} // whatever the clock will say
	}
	s.sweepSlots()
	return s.woken, nil
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
		node.Info, node.Unwell = copyof.NodeInfo(n.Info), slices.Clone(n.Unwell)
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

func (s *Store) runningOn(node int64) []*job {
	return s.selected(func(j *job) bool { return j.state == store.Running && j.lease.Node == node })
}

// isOver reports whether a node does not live, and has no job.
func (s *Store) isOver(node int64) bool { return !s.alive(node) && len(s.runningOn(node)) == 0 }

// sweepSlots takes back the slots of nodes that do not live and have no job.
func (s *Store) sweepSlots() {
	for _, id := range slices.Sorted(maps.Keys(s.limits)) {
		l := s.limits[id]
		before := len(l.holders())
		maps.DeleteFunc(l.grants, func(node int64, _ granted) bool { return s.isOver(node) })
		if len(l.holders()) < before {
			s.tell(store.Wake{Kind: store.WakeSlotsFree, Namespace: l.Namespace, Queue: l.Name})
		}
	}
}
