package tend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/limits"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/work"
)

// nodesKept is how long a node that ended is listed, and its row kept.
const nodesKept = 24 * time.Hour

// Join implements store.Nodes.
func (v Verbs) Join(ctx context.Context, info store.NodeInfo) (int64, error) {
	about, err := json.Marshal(core.StoredInfo(info))
	if err != nil {
		return 0, fmt.Errorf("%w: join: %w", store.ErrInvalid, err)
	}
	node := int64(0)
	err = v.d.Write(ctx, "join", func(t *core.Tx) error {
		v.d.Lives.Drop(node) // of a try before this one
		if waits, err := db.Exists(t.Stmt("node_waits")); err != nil {
			return err
		} else if waits {
			return refusal.CopyUnfinished()
		}
		st := t.Stmt("node_insert")
		st.BindText(info.Name)
		st.BindText(info.Version)
		st.BindInt(t.Now)
		st.BindInt(t.Now)
		st.BindText(string(about))
		st.BindInt(int64(info.Mode))
		st.BindInt(info.Was)
		found, err := st.Next()
		if err != nil || !found {
			return db.Unexpected("node_insert", err)
		}
		node = st.ReadInt()
		st.Done()
		if store.IsElsewhere(ctx) {
			return nil // the lock would be that of the life of this process
		}
		return v.d.Lives.Take(node)
	})
	if err != nil {
		v.d.Lives.Drop(node)
		return 0, err
	}
	return node, nil
}

// Beat implements store.Nodes.
func (v Verbs) Beat(ctx context.Context, params store.BeatParams) (store.Beat, error) {
	var beat store.Beat
	dead := false
	err := v.d.Write(ctx, "beat", func(t *core.Tx) (err error) {
		beat = store.Beat{}
		if beat.Mode, err = beatOf(t, params); err != nil {
			dead = errors.Is(err, store.ErrNodeDead)
			return err
		}
		beat.At = db.TimeOf(t.Now)
		if beat.Leader, beat.Epoch, err = lead(t, params.Node, params.LeaderTTL.Microseconds()); err != nil {
			return err
		}
		if beat.Leader && params.Lead {
			if beat.Nodes, err = otherNodes(t, params.Node); err != nil {
				return err
			}
			if beat.Work, err = workToDo(t); err != nil {
				return err
			}
		}
		if beat.Held, err = held(t, params.Node, params.Held); err != nil {
			return err
		}
		beat.Cancels, beat.Pauses, err = askedOf(t, params.Node)
		return err
	})
	if dead {
		v.d.Lives.Drop(params.Node)
	}
	return beat, err
}

// beatOf notes the beat of a node, and returns what people want of it.
func beatOf(t *core.Tx, params store.BeatParams) (store.NodeMode, error) {
	unwell := ""
	if len(params.Unwell) > 0 {
		text, err := json.Marshal(params.Unwell)
		if err != nil {
			return 0, fmt.Errorf("%w: beat: %w", store.ErrInvalid, err)
		}
		unwell = string(text)
	}
	st := t.Stmt("node_beat")
	st.BindInt(t.Now)
	db.BindOptText(st, unwell)
	st.BindInt(params.Node)
	alive, err := st.Next()
	if err != nil {
		return 0, err
	}
	if !alive {
		return 0, refusal.DeadNode(params.Node)
	}
	mode := store.NodeMode(st.ReadInt())
	st.Done()
	return mode, nil
}

// AskNode implements store.Nodes.
func (v Verbs) AskNode(ctx context.Context, params store.AskNodeParams) error {
	if err := params.Check(); err != nil {
		return err
	}
	return v.d.Write(ctx, fmt.Sprintf("ask node %d", params.Node), func(t *core.Tx) error {
		st := t.Stmt("node_mode")
		st.BindInt(params.Node)
		known, err := st.Next()
		if err != nil {
			return err
		}
		if !known {
			return refusal.NoNode(params.Node)
		}
		dead, mode := st.ReadInt() != 0, store.NodeMode(st.ReadInt())
		st.Done()
		switch {
		case dead:
			return refusal.DeadNode(params.Node)
		case mode == params.Mode:
			return nil
		case mode == store.NodeDrains:
			return refusal.NodeIsDraining(params.Node)
		}
		st = t.Stmt("node_ask")
		st.BindInt(int64(params.Mode))
		st.BindInt(t.Now)
		st.BindText(params.Actor)
		st.BindInt(params.Node)
		if err := db.Exec(st); err != nil {
			return err
		}
		st = t.Stmt("node_audit")
		st.BindInt(t.Now)
		st.BindText(params.Actor)
		st.BindText(params.Action())
		st.BindInt(params.Node)
		return db.Exec(st)
	})
}

// workToDo says what there may be to do. Whether a process is dead only a look at its lock tells,
// which is what a rescue does.
func workToDo(t *core.Tx) (store.Work, error) {
	s := t.Stmt("work")
	found, err := s.Next()
	if err != nil || !found {
		return store.Work{}, db.Unexpected("work", err)
	}
	defer s.Done()
	return store.Work{Rescue: true, SweepCancels: s.ReadInt() != 0, CloseChildren: s.ReadInt() != 0}, nil
}

// otherNodes returns the last beats of all nodes that are not declared dead, but for one.
func otherNodes(t *core.Tx, node int64) ([]store.NodeBeat, error) {
	alive, err := aliveNodes(t)
	return slices.DeleteFunc(alive, func(n store.NodeBeat) bool { return n.Node == node }), err
}

// held returns the leases of a node's claim records whose runs have not ended, each once.
func held(t *core.Tx, node int64, params store.HeldParams) ([]store.Lease, error) {
	var leases []store.Lease
	add := func(r *core.ClaimRecord) {
		for slot := range r.Slots() {
			if r.Runs(slot) {
				leases = append(leases, r.Lease(slot))
			}
		}
	}
	for _, seq := range slices.Compact(slices.Sorted(slices.Values(params.Claims))) {
		if seq >= params.From && seq < params.To {
			continue
		}
		r, err := t.Record(core.RecordName{Node: node, Seq: seq})
		if err != nil {
			return nil, err
		}
		add(r)
	}
	if params.From >= params.To {
		return leases, nil
	}
	s := t.Stmt("claims_between")
	s.BindInt(node)
	s.BindInt(params.From)
	s.BindInt(params.To)
	return leases, db.Each(s, func() error {
		r := &core.ClaimRecord{RecordName: core.RecordName{Node: node, Seq: s.ReadInt()}}
		r.Scan(s)
		add(r)
		return nil
	})
}

// askedOf returns the requests to cancel and to pause jobs that a node runs.
func askedOf(t *core.Tx, node int64) (cancels []store.CancelRequest, pauses []store.ID, err error) {
	allCancels, err := work.CancelRequests(t)
	if err != nil {
		return nil, nil, err
	}
	allPauses, err := work.PauseRequests(t)
	if err != nil || len(allCancels)+len(allPauses) == 0 {
		return nil, nil, err
	}
	records, err := t.RecordsOf(node)
	if err != nil {
		return nil, nil, err
	}
	runs := core.RunningJobs{}
	for _, r := range records {
		runs.Add(r)
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
func (v Verbs) Leave(ctx context.Context, node int64) ([]store.Wake, error) {
	wakes, err := v.d.Move(ctx, "leave", nil, func(t *core.Tx) error {
		ended, err := endNode(t, node, store.NodeLeft)
		if err != nil || !ended {
			return err
		}
		records, err := t.RecordsOf(node)
		if err != nil {
			return err
		}
		for _, r := range records {
			for slot := range r.Slots() {
				if err := release(t, r, slot); err != nil {
					return err
				}
			}
		}
		return limits.Sweep(t)
	})
	if err == nil {
		v.d.Lives.Drop(node)
	}
	return wakes, err
}

// release gives back the job in a slot of a node that leaves, if it still runs.
func release(t *core.Tx, r *core.ClaimRecord, slot int) error {
	if !r.Runs(slot) {
		return nil
	}
	l := r.Lease(slot)
	r.Finish(slot)
	b, found, err := t.Body(l.Job)
	if err != nil || !found {
		return err // a slot without a job would be a bug; it must not keep the node from leaving
	}
	e := &work.Ending{State: store.Available, Reason: store.ReasonReleased, RunAt: t.Now, Taken: true}
	if e.Durable, err = work.Durable(t, b.ID); err != nil {
		return err
	}
	_, _, err = work.EndRun(t, b, r, l, e)
	return err
}

// endNode ends a node and its leader lease. It returns false if the node had ended before.
func endNode(t *core.Tx, node int64, how store.NodeEnd) (bool, error) {
	ended, err := markEnded(t, node, how)
	if err != nil || !ended {
		return false, err
	}
	return true, resign(t, node)
}

// markEnded says that a node does not live, and how it has ended. It returns false if that was said
// before.
func markEnded(t *core.Tx, node int64, how store.NodeEnd) (bool, error) {
	s := t.Stmt("node_end")
	s.BindInt(t.Now)
	s.BindInt(int64(how))
	s.BindInt(node)
	changed, err := s.Exec()
	return changed > 0, err
}

// Nodes implements store.Nodes.
func (v Verbs) Nodes(ctx context.Context) ([]store.Node, error) {
	var nodes []store.Node
	err := v.d.Read(ctx, "list the nodes", func(t *core.Tx) error {
		nodes = nil
		st := t.Stmt("nodes")
		st.BindInt(t.Now - nodesKept.Microseconds())
		err := db.Each(st, func() error {
			n := store.Node{ID: st.ReadInt(), StartedAt: db.ReadTime(st), BeatAt: db.ReadTime(st), DeadAt: db.ReadOptTime(st)}
			n.Ended = store.NodeEnd(st.ReadInt())
			var info core.StoredInfo
			if err := json.Unmarshal(st.ReadBlob(), &info); err != nil {
				return fmt.Errorf("%w: info of node %d: %w", store.ErrInvalid, n.ID, err)
			}
			n.Info = store.NodeInfo(info)
			n.Mode, n.ModeAt, n.ModeBy = store.NodeMode(st.ReadInt()), db.ReadOptTime(st), db.ReadOptText(st)
			n.Unwell = store.UnwellOf(db.ReadOptText(st))
			nodes = append(nodes, n)
			return nil
		})
		if err != nil {
			return err
		}
		runs := map[int64]int{}
		st = t.Stmt("claimed_slots")
		err = db.Each(st, func() error {
			runs[st.ReadInt()] += core.Running(st.ReadInt(), st.ReadInt())
			return nil
		})
		if err != nil {
			return err
		}
		leader, err := leader(t)
		if err != nil {
			return err
		}
		for i := range nodes {
			nodes[i].Running = runs[nodes[i].ID]
			nodes[i].Leader = leader.node == nodes[i].ID && !leader.over(t.Now)
		}
		return nil
	})
	return nodes, err
}
