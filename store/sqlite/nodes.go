package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// nodesKept is how long a node that ended is listed, and its row kept.
const nodesKept = 24 * time.Hour

// Join implements store.Nodes.
func (v tendVerbs) Join(ctx context.Context, info store.NodeInfo) (int64, error) {
	about, err := json.Marshal(storedInfo(info))
	if err != nil {
		return 0, fmt.Errorf("%w: join: %w", store.ErrInvalid, err)
	}
	node := int64(0)
	err = v.d.write(ctx, "join", func(t *tx) error {
		v.d.lives.drop(node) // of a try before this one
		st := t.stmt("node_insert")
		st.bindText(info.Name)
		st.bindText(info.Version)
		st.bindInt(t.now)
		st.bindInt(t.now)
		st.bindText(string(about))
		found, err := st.next()
		if err != nil || !found {
			return unexpected("node_insert", err)
		}
		node = st.readInt()
		st.done()
		return v.d.lives.take(node)
	})
	if err != nil {
		v.d.lives.drop(node)
		return 0, err
	}
	return node, nil
}

// Beat implements store.Nodes.
func (v tendVerbs) Beat(ctx context.Context, params store.BeatParams) (store.Beat, error) {
	var beat store.Beat
	dead := false
	err := v.d.write(ctx, "beat", func(t *tx) (err error) {
		beat = store.Beat{}
		st := t.stmt("node_beat")
		st.bindInt(t.now)
		st.bindInt(params.Node)
		changed, err := st.exec()
		if err != nil {
			return err
		}
		if changed == 0 {
			dead = true
			return store.DeadNode(params.Node)
		}
		beat.At = timeOf(t.now)
		if beat.Leader, beat.Epoch, err = t.lead(params.Node, params.LeaderTTL.Microseconds()); err != nil {
			return err
		}
		if beat.Leader && params.Lead {
			if beat.Nodes, err = t.otherNodes(params.Node); err != nil {
				return err
			}
			if beat.Work, err = t.work(); err != nil {
				return err
			}
		}
		if beat.Held, err = t.held(params.Node, params.Held); err != nil {
			return err
		}
		beat.Cancels, beat.Pauses, err = t.askedOf(params.Node)
		return err
	})
	if dead {
		v.d.lives.drop(params.Node)
	}
	return beat, err
}

// work says what there may be to do. Whether a process is dead only a look at its lock tells, which is what a rescue does.
func (t *tx) work() (store.Work, error) {
	s := t.stmt("work")
	found, err := s.next()
	if err != nil || !found {
		return store.Work{}, unexpected("work", err)
	}
	defer s.done()
	return store.Work{Rescue: true, SweepCancels: s.readInt() != 0, CloseChildren: s.readInt() != 0}, nil
}

// otherNodes returns the last beats of all nodes that are not declared dead, but for one.
func (t *tx) otherNodes(node int64) ([]store.NodeBeat, error) {
	alive, err := t.aliveNodes()
	return slices.DeleteFunc(alive, func(n store.NodeBeat) bool { return n.Node == node }), err
}

// held returns the leases of a node's claim records whose runs have not ended, each once.
func (t *tx) held(node int64, params store.HeldParams) ([]store.Lease, error) {
	var leases []store.Lease
	add := func(r *claimRecord) {
		for slot := range r.slots() {
			if r.runs(slot) {
				leases = append(leases, r.lease(slot))
			}
		}
	}
	for _, seq := range slices.Compact(slices.Sorted(slices.Values(params.Claims))) {
		if seq >= params.From && seq < params.To {
			continue
		}
		r, err := t.record(recordName{node, seq})
		if err != nil {
			return nil, err
		}
		add(r)
	}
	if params.From >= params.To {
		return leases, nil
	}
	s := t.stmt("claims_between")
	s.bindInt(node)
	s.bindInt(params.From)
	s.bindInt(params.To)
	return leases, each(s, func() error {
		r := &claimRecord{recordName: recordName{node, s.readInt()}}
		r.scan(s)
		add(r)
		return nil
	})
}

// askedOf returns the requests to cancel and to pause jobs that a node runs.
func (t *tx) askedOf(node int64) (cancels []store.CancelRequest, pauses []store.ID, err error) {
	allCancels, err := t.cancelRequests()
	if err != nil {
		return nil, nil, err
	}
	allPauses, err := t.pauseRequests()
	if err != nil || len(allCancels)+len(allPauses) == 0 {
		return nil, nil, err
	}
	records, err := t.recordsOf(node)
	if err != nil {
		return nil, nil, err
	}
	runs := runningJobs{}
	for _, r := range records {
		runs.add(r)
	}
	for _, request := range allCancels {
		if _, ok := runs[request.Job]; ok {
			cancels = append(cancels, request)
		}
	}
	for _, id := range allPauses {
		if _, ok := runs[id]; ok {
			pauses = append(pauses, id)
		}
	}
	return cancels, pauses, nil
}

// Leave implements store.Nodes.
func (v tendVerbs) Leave(ctx context.Context, node int64) error {
	err := v.d.write(ctx, "leave", func(t *tx) error {
		ended, err := t.endNode(node)
		if err != nil || !ended {
			return err
		}
		records, err := t.recordsOf(node)
		if err != nil {
			return err
		}
		for _, r := range records {
			for slot := range r.slots() {
				if err := t.release(r, slot); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil {
		v.d.lives.drop(node)
	}
	return err
}

// release gives back the job in a slot of a node that leaves, if it still runs.
func (t *tx) release(r *claimRecord, slot int) error {
	if !r.runs(slot) {
		return nil
	}
	l := r.lease(slot)
	r.finish(slot)
	b, found, err := t.body(l.Job)
	if err != nil || !found {
		return err // a slot without a job would be a bug; it must not keep the node from leaving
	}
	e := &ending{state: store.Available, reason: store.ReasonReleased, runAt: t.now, taken: true}
	if e.durable, err = t.durable(b.ID); err != nil {
		return err
	}
	_, _, err = t.endRun(b, r, l, e)
	return err
}

// endNode ends a node and its leader lease. It returns false if the node had ended before.
func (t *tx) endNode(node int64) (bool, error) {
	ended, err := t.markDead(node)
	if err != nil || !ended {
		return false, err
	}
	return true, t.resign(node)
}

// markDead says that a node does not live. It returns false if that was said before.
func (t *tx) markDead(node int64) (bool, error) {
	s := t.stmt("node_end")
	s.bindInt(t.now)
	s.bindInt(node)
	changed, err := s.exec()
	return changed > 0, err
}

// Nodes implements store.Nodes.
func (v tendVerbs) Nodes(ctx context.Context) ([]store.Node, error) {
	var nodes []store.Node
	err := v.d.read(ctx, "list the nodes", func(t *tx) error {
		nodes = nil
		st := t.stmt("nodes")
		st.bindInt(t.now - nodesKept.Microseconds())
		err := each(st, func() error {
			n := store.Node{ID: st.readInt(), StartedAt: readTime(st), BeatAt: readTime(st), DeadAt: readOptTime(st)}
			var info storedInfo
			if err := json.Unmarshal(st.readBlob(), &info); err != nil {
				return fmt.Errorf("%w: info of node %d: %w", store.ErrInvalid, n.ID, err)
			}
			n.Info = store.NodeInfo(info)
			nodes = append(nodes, n)
			return nil
		})
		if err != nil {
			return err
		}
		runs := map[int64]int{}
		st = t.stmt("claimed_slots")
		err = each(st, func() error {
			runs[st.readInt()] += running(st.readInt(), st.readInt())
			return nil
		})
		if err != nil {
			return err
		}
		leader, err := t.leader()
		if err != nil {
			return err
		}
		for i := range nodes {
			nodes[i].Running = runs[nodes[i].ID]
			nodes[i].Leader = leader.node == nodes[i].ID && !leader.over(t.now)
		}
		return nil
	})
	return nodes, err
}
