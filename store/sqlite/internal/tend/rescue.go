package tend

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/gofrs/flock"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/limits"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/work"
)

// rescueLimit is how many claim records one Rescue takes if it is not told.
const rescueLimit = 100

// Rescue implements store.Maintenance. A node is dead if those who watch it say so, or if its
// process is gone, which the lock of its life says at once.
func (v Verbs) Rescue(ctx context.Context, params store.RescueParams) (store.Rescued, error) {
	if len(params.Lost) > 0 {
		return v.giveUp(ctx, params.Lost)
	}
	if params.Limit <= 0 {
		params.Limit = rescueLimit
	}
	var rescued []store.RescuedJob
	var ended []int64
	killed := map[int64]*flock.Flock{} // held until the deaths are recorded, so that each is found once
	wakes, err := v.d.Move(ctx, "rescue",
		func(t *core.Tx) (bool, error) {
			alive, err := aliveNodes(t)
			if err != nil {
				return false, err
			}
			for _, n := range alive {
				if lock := v.d.Lives.TryDead(n.Node); lock != nil && killed[n.Node] == nil {
					killed[n.Node] = lock
				}
			}
			hold, err := deadHold(t)
			return hold || len(killed) > 0 || len(silent(alive, params.Dead)) > 0, err
		},
		func(t *core.Tx) error {
			rescued, ended = nil, nil
			alive, err := aliveNodes(t)
			if err != nil {
				return err
			}
			if ended, err = declareDead(t, silent(alive, params.Dead)); err != nil {
				return err
			}
			for node := range killed { // surely: it does not lead any more
				if now, err := endNode(t, node, store.NodeDied); err != nil {
					return err
				} else if now {
					ended = append(ended, node)
				}
			}
			rescued, err = rescue(t, params)
			return err
		})
	for _, lock := range killed {
		if err == nil {
			v.d.Lives.Remove(lock)
		} else {
			_ = lock.Unlock() // the next rescue finds it free again
		}
	}
	if err != nil {
		return store.Rescued{}, err
	}
	for _, node := range ended {
		v.d.Lives.Drop(node) // one of ours that was too slow
	}
	return store.Rescued{Jobs: rescued, Died: ended, Wakes: wakes}, nil
}

// aliveNodes returns the last beats of the nodes that are not declared dead.
func aliveNodes(t *core.Tx) ([]store.NodeBeat, error) {
	var alive []store.NodeBeat
	s := t.Stmt("nodes_alive")
	return alive, db.Each(s, func() error {
		alive = append(alive, store.NodeBeat{Node: s.ReadInt(), At: db.ReadTime(s)})
		return nil
	})
}

// silent returns those of the nodes whose last beat is still the one after which they are believed
// dead.
func silent(alive, believed []store.NodeBeat) []int64 {
	var dead []int64
	for _, b := range believed {
		if slices.ContainsFunc(alive, func(n store.NodeBeat) bool { return n.Node == b.Node && n.At.UnixMicro() == b.At.UnixMicro() }) {
			dead = append(dead, b.Node)
		}
	}
	return dead
}

// declareDead marks nodes as dead, and returns those that were not before. The leader lease of one
// of them ends by the clock.
func declareDead(t *core.Tx, nodes []int64) (ended []int64, err error) {
	for _, node := range nodes {
		now, err := markEnded(t, node, store.NodeDied)
		if err != nil {
			return nil, err
		}
		if now {
			ended = append(ended, node)
		}
	}
	return ended, nil
}

// deadHold reports whether dead nodes hold something: jobs, or slots of limits.
func deadHold(t *core.Tx) (bool, error) {
	records, err := deadRecords(t, core.RecordName{Node: math.MinInt64, Seq: 0}, 1)
	if err != nil || len(records) > 0 {
		return true, err
	}
	return limits.Left(t)
}

// deadRecords names claim records of nodes that are dead, from after the given one on.
func deadRecords(t *core.Tx, after core.RecordName, limit int) ([]core.RecordName, error) {
	var names []core.RecordName
	s := t.Stmt("claims_of_dead")
	s.BindInt(after.Node)
	s.BindInt(after.Seq)
	s.BindInt(int64(limit))
	return names, db.Each(s, func() error {
		names = append(names, core.RecordName{Node: s.ReadInt(), Seq: s.ReadInt()})
		return nil
	})
}

// rescue takes the jobs of up to limit claim records of dead nodes, and then the slots of limits
// that they hold for no job any more. Records with a job that cannot be put back do not count: they
// stay, are tried again by the next rescue, and do not hold up the others.
func rescue(t *core.Tx, params store.RescueParams) ([]store.RescuedJob, error) {
	var rescued []store.RescuedJob
	last := core.RecordName{Node: math.MinInt64, Seq: 0}
	for cleared := 0; cleared < params.Limit; {
		names, err := deadRecords(t, last, params.Limit-cleared)
		if err != nil {
			return nil, err
		}
		if len(names) == 0 {
			break
		}
		for _, name := range names {
			r, err := t.Record(name)
			if err != nil {
				return nil, err
			}
			jobs, err := rescueRecord(t, r)
			if err != nil {
				return nil, err
			}
			rescued = append(rescued, jobs...)
			if r.Done == r.All {
				cleared++
			}
		}
		last = names[len(names)-1]
	}
	return rescued, limits.Sweep(t)
}

func rescueRecord(t *core.Tx, r *core.ClaimRecord) ([]store.RescuedJob, error) {
	var rescued []store.RescuedJob
	for slot := range r.Slots() {
		if !r.Runs(slot) {
			continue
		}
		job, found, err := rescueSlot(t, r, slot)
		if err != nil {
			return nil, err
		}
		if found {
			rescued = append(rescued, job)
		}
	}
	return rescued, nil
}

// rescueSlot takes the job that runs in a slot, if it can be put back.
func rescueSlot(t *core.Tx, r *core.ClaimRecord, slot int) (job store.RescuedJob, found bool, err error) {
	done, woken, told := r.Done, slices.Clone(t.Woken), t.HowMuchTold()
	err = t.Own.Savepoint(func() (err error) {
		job, found, err = rescueJob(t, r, slot)
		return err
	})
	if err == nil {
		return job, found, nil
	}
	r.Done, t.Woken = done, woken
	t.Untell(told)
	if store.IsRetryable(db.Classify("rescue", err)) { // it is the database, not the job
		return job, false, err
	}
	return job, false, nil
}

// rescueJob ends the run of a job that no handler works on any more, as its node has promised. It
// finds no job if the slot's body is gone, which would be a bug.
func rescueJob(t *core.Tx, r *core.ClaimRecord, slot int) (rescued store.RescuedJob, found bool, err error) {
	l := r.Lease(slot)
	r.Finish(slot)
	b, found, err := t.Body(l.Job)
	if err != nil || !found {
		return rescued, false, err
	}
	last, ends, durable, err := work.LastWritten(t, b.ID)
	if err != nil {
		return rescued, false, err
	}
	grown := durable && last == l.Number || ends
	lost := b.Job
	if lost.LeaseNumber = l.Number; !grown {
		lost.Attempt++
	}
	asked, err := work.RequestsOf(t, b.ID)
	if err != nil {
		return rescued, false, err
	}
	promised, err := policiesOf(t, r.Node)
	if err != nil {
		return rescued, false, err
	}
	set, err := tuned(t, b.Lane.Queue)
	if err != nil {
		return rescued, false, err
	}
	e := &work.Ending{
		State: store.Failed, Reason: store.ReasonCrashLoop, Taken: true, Lost: true, Durable: durable, Uncounted: grown, CancelSeen: true,
	}
	// A requested cancel comes before the decision that no attempt is left, unless the job would
	// have to end itself in one.
	if delay, retry := promised[b.Kind].In(set).Lost(&lost); retry || asked.Cancel != nil && !durable {
		e.State, e.Reason, e.RunAt = store.Retryable, store.ReasonNodeLost, t.Now+max(delay, 0).Microseconds()
	}
	state, reason, err := work.EndRun(t, b, r, l, e)
	rescued = store.RescuedJob{
		Job: b.ID, Namespace: b.Namespace, Kind: b.Kind, Node: r.Node, State: state, Reason: reason, Queue: b.Queue, RunAt: b.RunAt,
	}
	return rescued, true, err
}

// policiesOf returns what a node has promised of its kinds. A node of a program that did not say so
// has promised nothing. What cannot be read is left to who can.
func policiesOf(t *core.Tx, node int64) (map[string]store.Policy, error) {
	if promised, ok := t.Promised[node]; ok {
		return promised, nil
	}
	var info core.StoredInfo
	s := t.Stmt("node_info")
	s.BindInt(node)
	found, err := s.Next()
	if err != nil {
		return nil, err
	}
	if found {
		err = json.Unmarshal(s.ReadBlob(), &info)
		s.Done()
		if err != nil {
			return nil, fmt.Errorf("%w: info of node %d: %w", store.ErrInvalid, node, err)
		}
	}
	if t.Promised == nil {
		t.Promised = map[int64]map[string]store.Policy{}
	}
	t.Promised[node] = info.Policies
	return info.Policies, nil
}

// giveUp takes the jobs of leases of which their node says that none of its runs has them, as a
// rescue would if the node were dead.
func (v Verbs) giveUp(ctx context.Context, lost []store.Lease) (store.Rescued, error) {
	var rescued []store.RescuedJob
	wakes, err := v.d.Move(ctx, "give up leases",
		func(t *core.Tx) (bool, error) {
			for _, l := range lost {
				if r, err := t.Record(core.RecordName{Node: l.Node, Seq: l.Claim}); err != nil || r.Holds(l) {
					return true, err
				}
			}
			return false, nil
		},
		func(t *core.Tx) error {
			rescued = nil
			for _, l := range lost {
				r, err := t.Record(core.RecordName{Node: l.Node, Seq: l.Claim})
				if err != nil {
					return err
				}
				if !r.Holds(l) {
					continue
				}
				job, found, err := rescueSlot(t, r, l.Slot)
				if err != nil {
					return err
				}
				if found {
					rescued = append(rescued, job)
				}
			}
			return nil
		})
	if err != nil {
		return store.Rescued{}, err
	}
	return store.Rescued{Jobs: rescued, Wakes: wakes}, nil
}
