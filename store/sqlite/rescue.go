package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/gofrs/flock"

	"github.com/holdfastdev/holdfast/store"
)

// rescueLimit is how many claim records one Rescue takes if it is not told.
const rescueLimit = 100

// Rescue implements store.Maintenance. A node is dead if those who watch it say so, or if its
// process is gone, which the lock of its life says at once.
func (v tendVerbs) Rescue(ctx context.Context, params store.RescueParams) ([]store.Rescued, error) {
	if len(params.Lost) > 0 {
		return v.giveUp(ctx, params.Lost)
	}
	if params.Limit <= 0 {
		params.Limit = rescueLimit
	}
	var rescued []store.Rescued
	var ended []int64
	killed := map[int64]*flock.Flock{} // held until the deaths are recorded, so that each is found once
	err := v.d.writeIf(ctx, "rescue",
		func(t *tx) (bool, error) {
			alive, err := t.aliveNodes()
			if err != nil {
				return false, err
			}
			for _, n := range alive {
				if lock := v.d.lives.tryDead(n.Node); lock != nil && killed[n.Node] == nil {
					killed[n.Node] = lock
				}
			}
			records, err := t.deadRecords(recordName{math.MinInt64, 0}, 1)
			return len(killed) > 0 || len(records) > 0 || len(silent(alive, params.Dead)) > 0, err
		},
		func(t *tx) error {
			rescued, ended = nil, nil
			alive, err := t.aliveNodes()
			if err != nil {
				return err
			}
			if ended, err = t.declareDead(silent(alive, params.Dead)); err != nil {
				return err
			}
			for node := range killed { // surely: it does not lead any more
				now, err := t.endNode(node)
				if err != nil {
					return err
				}
				if now {
					ended = append(ended, node)
				}
			}
			rescued, err = t.rescue(params)
			return err
		})
	for _, lock := range killed {
		if err == nil {
			v.d.lives.remove(lock)
		} else {
			_ = lock.Unlock() // the next rescue finds it free again
		}
	}
	if err != nil {
		return nil, err
	}
	for _, node := range ended {
		v.d.lives.drop(node) // one of ours that was too slow
	}
	return rescued, nil
}

// aliveNodes returns the last beats of the nodes that are not declared dead.
func (t *tx) aliveNodes() ([]store.NodeBeat, error) {
	var alive []store.NodeBeat
	s := t.stmt("nodes_alive")
	return alive, each(s, func() error {
		alive = append(alive, store.NodeBeat{Node: s.readInt(), At: readTime(s)})
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
func (t *tx) declareDead(nodes []int64) (ended []int64, err error) {
	for _, node := range nodes {
		now, err := t.markDead(node)
		if err != nil {
			return nil, err
		}
		if now {
			ended = append(ended, node)
		}
	}
	return ended, nil
}

// deadRecords names claim records of nodes that are dead, from after the given one on.
func (t *tx) deadRecords(after recordName, limit int) ([]recordName, error) {
	var names []recordName
	s := t.stmt("claims_of_dead")
	s.bindInt(after.node)
	s.bindInt(after.seq)
	s.bindInt(int64(limit))
	return names, each(s, func() error {
		names = append(names, recordName{s.readInt(), s.readInt()})
		return nil
	})
}

// rescue takes the jobs of up to limit claim records of dead nodes. Records with a job that cannot be put back do not count:
// they stay, are tried again by the next rescue, and hold up nobody.
func (t *tx) rescue(params store.RescueParams) ([]store.Rescued, error) {
	var rescued []store.Rescued
	last := recordName{math.MinInt64, 0}
	for cleared := 0; cleared < params.Limit; {
		names, err := t.deadRecords(last, params.Limit-cleared)
		if err != nil || len(names) == 0 {
			return rescued, err
		}
		for _, name := range names {
			r, err := t.record(name)
			if err != nil {
				return nil, err
			}
			jobs, err := t.rescueRecord(r)
			if err != nil {
				return nil, err
			}
			rescued = append(rescued, jobs...)
			if r.done == r.all {
				cleared++
			}
		}
		last = names[len(names)-1]
	}
	return rescued, nil
}

func (t *tx) rescueRecord(r *claimRecord) ([]store.Rescued, error) {
	var rescued []store.Rescued
	for slot := range r.slots() {
		if !r.runs(slot) {
			continue
		}
		job, found, err := t.rescueSlot(r, slot)
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
func (t *tx) rescueSlot(r *claimRecord, slot int) (job store.Rescued, found bool, err error) {
	done := r.done
	err = t.own.savepoint(func() (err error) {
		job, found, err = t.rescueJob(r, slot)
		return err
	})
	if err == nil {
		return job, found, nil
	}
	r.done = done
	if store.IsRetryable(classify("rescue", err)) { // it is the database, not the job
		return job, false, err
	}
	return job, false, nil
}

// rescueJob ends the run of a job that nobody works on, as its node has promised. It finds no job if
// the slot's body is gone, which would be a bug.
func (t *tx) rescueJob(r *claimRecord, slot int) (rescued store.Rescued, found bool, err error) {
	l := r.lease(slot)
	r.finish(slot)
	b, found, err := t.body(l.Job)
	if err != nil || !found {
		return rescued, false, err
	}
	last, durable, err := t.lastWriter(b.ID)
	if err != nil {
		return rescued, false, err
	}
	grown := durable && last == l.Number
	lost := b.Job
	if lost.LeaseNumber = l.Number; !grown {
		lost.Attempt++
	}
	asked, err := t.requests(b.ID)
	if err != nil {
		return rescued, false, err
	}
	promised, err := t.policiesOf(r.node)
	if err != nil {
		return rescued, false, err
	}
	e := &ending{state: store.Failed, reason: store.ReasonCrashLoop, taken: true, durable: durable, uncounted: grown, cancelSeen: true}
	// A requested cancel comes before the decision that no attempt is left, unless the job would
	// have to end itself in one.
	if delay, retry := promised[b.Kind].Lost(&lost); retry || asked.cancel != nil && !durable {
		e.state, e.reason, e.runAt = store.Retryable, store.ReasonNodeLost, t.now+max(delay, 0).Microseconds()
	}
	state, reason, err := t.endRun(b, r, l, e)
	rescued = store.Rescued{
		Job: b.ID, Kind: b.Kind, Node: r.node, State: state, Reason: reason, Queue: b.Queue, RunAt: b.RunAt,
	}
	return rescued, true, err
}

// policiesOf returns what a node has promised of its kinds. A node of a program that did not say so
// has promised nothing. What cannot be read is left to who can.
func (t *tx) policiesOf(node int64) (map[string]store.Policy, error) {
	if promised, ok := t.promised[node]; ok {
		return promised, nil
	}
	var info storedInfo
	s := t.stmt("node_info")
	s.bindInt(node)
	found, err := s.next()
	if err != nil {
		return nil, err
	}
	if found {
		err = json.Unmarshal(s.readBlob(), &info)
		s.done()
		if err != nil {
			return nil, fmt.Errorf("%w: info of node %d: %w", store.ErrInvalid, node, err)
		}
	}
	if t.promised == nil {
		t.promised = map[int64]map[string]store.Policy{}
	}
	t.promised[node] = info.Policies
	return info.Policies, nil
}

// giveUp takes the jobs of leases of which their node says that nobody works on them, as a rescue
// would if the node were dead.
func (v tendVerbs) giveUp(ctx context.Context, lost []store.Lease) ([]store.Rescued, error) {
	var rescued []store.Rescued
	err := v.d.writeIf(ctx, "give up leases",
		func(t *tx) (bool, error) {
			for _, l := range lost {
				if r, err := t.record(recordName{l.Node, l.Claim}); err != nil || r.holds(l) {
					return true, err
				}
			}
			return false, nil
		},
		func(t *tx) error {
			rescued = nil
			for _, l := range lost {
				r, err := t.record(recordName{l.Node, l.Claim})
				if err != nil {
					return err
				}
				if !r.holds(l) {
					continue
				}
				job, found, err := t.rescueSlot(r, l.Slot)
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
		return nil, err
	}
	return rescued, nil
}
