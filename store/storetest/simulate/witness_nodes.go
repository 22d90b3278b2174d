package simulate

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// Join implements store.Nodes.
func (w *witness) Join(ctx context.Context, info store.NodeInfo) (int64, error) {
	w.begin("Join")
	id, err := w.Store.Join(ctx, info)
	must("Join", err)
	if w.nodes[id] != nil {
		play.Brokenf("OneOwner", "the node id %d comes twice", id)
	}
	w.nodes[id] = &member{id: id, info: info, beatAt: w.now}
	return id, nil
}

// Beat implements store.Nodes.
func (w *witness) Beat(ctx context.Context, p store.BeatParams) (store.Beat, error) {
	w.begin("Beat")
	beat, err := w.Store.Beat(ctx, p)
	if !w.alive(p.Node) {
		refused("a beat of a dead node", err, store.ErrNodeDead)
		return beat, err
	}
	must("Beat", err)
	w.nodes[p.Node].beatAt = w.now
	var cancels, pauses []store.ID
	var held []store.Lease
	for _, j := range w.running(p.Node) {
		if j.cancel {
			cancels = append(cancels, j.body.ID)
		}
		if j.pause {
			pauses = append(pauses, j.body.ID)
		}
		if asked := p.Held; slices.Contains(asked.Claims, j.lease.Claim) || j.lease.Claim >= asked.From && j.lease.Claim < asked.To {
			held = append(held, j.lease)
		}
	}
	var told []store.ID
	for _, c := range beat.Cancels {
		told = append(told, c.Job)
	}
	if !sameIDs(told, cancels) || !sameIDs(beat.Pauses, pauses) {
		play.Brokenf("CancelArrives", "node %d is told to cancel %v and to pause %v, not %v and %v", p.Node, told, beat.Pauses, cancels, pauses)
	}
	slices.SortFunc(held, compareLeases)
	slices.SortFunc(beat.Held, compareLeases)
	if !slices.Equal(held, beat.Held) {
		play.Brokenf("OneOwner", "node %d holds %v and is told of %v", p.Node, held, beat.Held)
	}
	if p.LeaderTTL > 0 {
		w.sawStand(p, &beat)
	}
	return beat, nil
}

// sawStand checks who leads: one node at a time, and each holder under an epoch of its own.
func (w *witness) sawStand(p store.BeatParams, beat *store.Beat) {
	left := w.leader.expires.Sub(w.now)
	led := left > 0 && left <= w.leader.length
	if mine := w.leader.node == p.Node; beat.Leader != (mine || !led) {
		play.Brokenf("OneLeader", "node %d stands, node %d leads: %v, and the answer is %v", p.Node, w.leader.node, led, beat.Leader)
	}
	if !beat.Leader {
		return
	}
	again := led && w.leader.node == p.Node
	if again && beat.Epoch != w.leader.epoch || !again && beat.Epoch <= w.leader.epoch {
		play.Brokenf("OneLeader", "node %d leads in epoch %d, after node %d in %d", p.Node, beat.Epoch, w.leader.node, w.leader.epoch)
	}
	w.leader = leadership{p.Node, beat.Epoch, w.now.Add(p.LeaderTTL), p.LeaderTTL}
	if !p.Lead {
		return
	}
	var others []store.NodeBeat
	for _, id := range slices.Sorted(maps.Keys(w.nodes)) {
		if n := w.nodes[id]; !n.dead && id != p.Node {
			others = append(others, store.NodeBeat{Node: id, At: n.beatAt})
		}
	}
	slices.SortFunc(beat.Nodes, func(a, b store.NodeBeat) int { return cmp.Compare(a.Node, b.Node) })
	if !slices.EqualFunc(others, beat.Nodes, func(a, b store.NodeBeat) bool { return a.Node == b.Node && a.At.Equal(b.At) }) {
		play.Brokenf("OneLeader", "the leader is told of the nodes %v, not of %v", beat.Nodes, others)
	}
	if !beat.Work.Rescue && len(w.abandoned()) > 0 {
		play.Brokenf("EveryDueThing", "the leader is told of %+v, but dead nodes hold %v", beat.Work, w.abandoned())
	}
}

// abandoned are the jobs under leases of dead nodes.
func (w *witness) abandoned() []*job {
	var found []*job
	for _, j := range w.order {
		if j.running() && w.nodes[j.lease.Node].dead {
			found = append(found, j)
		}
	}
	return found
}

// Leave implements store.Nodes.
func (w *witness) Leave(ctx context.Context, node int64) ([]store.Wake, error) {
	w.begin("Leave")
	wakes, err := w.Store.Leave(ctx, node)
	must("Leave", err)
	if !w.alive(node) {
		return wakes, nil
	}
	for _, j := range w.running(node) {
		w.end(j, w.released(j))
	}
	w.nodes[node].dead = true
	if w.leader.node == node {
		w.leader = leadership{epoch: w.leader.epoch}
	}
	w.look(ctx)
	return wakes, nil
}

// Rescue implements store.Maintenance.
func (w *witness) Rescue(ctx context.Context, p store.RescueParams) (store.Rescued, error) {
	w.begin("Rescue")
	rescued, err := w.Store.Rescue(ctx, p)
	must("Rescue", err)
	var lost []*job
	for _, l := range p.Lost {
		if j := w.live(l); j != nil && !slices.Contains(lost, j) {
			lost = append(lost, j)
		}
	}
	if len(p.Lost) == 0 {
		for _, d := range p.Dead {
			if n := w.nodes[d.Node]; n != nil && n.beatAt.Equal(d.At) {
				n.dead = true
			}
		}
		lost = w.abandoned()
	}
	for _, r := range rescued.Jobs {
		j := w.jobs[r.Job]
		if j == nil || !slices.Contains(lost, j) || !j.running() {
			play.Brokenf("OneOwner", "%v is taken from node %d, which lives or does not hold it", j, r.Node)
		}
		state, due := w.end(j, w.lost(j))
		if r.State != state || state == store.Retryable && !r.RunAt.Equal(due) || r.Queue != j.body.Queue || r.Kind != j.body.Kind {
			play.Brokenf("Atomic", "%v is rescued as %+v, not as %v, due at %v", j, r, state, due)
		}
	}
	for _, j := range lost {
		if j.running() && (p.Limit == 0 || len(p.Lost) > 0 || len(rescued.Jobs) == 0) {
			play.Brokenf("EveryDueThing", "%v is not rescued from node %d", j, j.lease.Node)
		}
	}
	w.look(ctx)
	return rescued, nil
}

func compareLeases(a, b store.Lease) int { return compareIDs(a.Job, b.Job) }

// sameIDs compares two lists in any order, and leaves the second one sorted.
func sameIDs(a, b []store.ID) bool {
	a = slices.SortedFunc(slices.Values(a), compareIDs)
	slices.SortFunc(b, compareIDs)
	return slices.Equal(a, b)
}
