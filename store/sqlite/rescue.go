package sqlite

import (
	"context"
	"math"

	"github.com/gofrs/flock"

	"github.com/holdfastdev/holdfast/store"
)

// rescueLimit is how many claim records one Rescue takes if it is not told.
const rescueLimit = 100

// Rescue implements store.Maintenance. A node is dead if its heartbeat is too old, or if its process is gone, which the
// lock of its life says at once.
func (s *Store) Rescue(ctx context.Context, params store.RescueParams) ([]store.Rescued, error) {
	if params.Limit <= 0 {
		params.Limit = rescueLimit
	}
	var rescued []store.Rescued
	var ended []int64
	killed := map[int64]*flock.Flock{} // held until the deaths are recorded, so that each is found once
	err := s.writeIf(ctx, "rescue",
		func(t *tx) (bool, error) {
			alive, err := t.aliveNodes()
			if err != nil {
				return false, err
			}
			for _, n := range alive {
				if lock := s.lives.tryDead(n.id); lock != nil && killed[n.id] == nil {
					killed[n.id] = lock
				}
			}
			records, err := t.deadRecords(recordName{math.MinInt64, 0}, 1)
			return len(killed) > 0 || len(records) > 0 || len(overdue(alive, t.now, params)) > 0, err
		},
		func(t *tx) error {
			rescued, ended = nil, nil
			alive, err := t.aliveNodes()
			if err != nil {
				return err
			}
			late := overdue(alive, t.now, params)
			for node := range killed {
				late = append(late, node)
			}
			for _, node := range late {
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
			s.lives.remove(lock)
		} else {
			_ = lock.Unlock() // the next rescue finds it free again
		}
	}
	if err != nil {
		return nil, err
	}
	for _, node := range ended {
		s.lives.drop(node) // one of ours that was too slow
	}
	return rescued, nil
}

// aliveNode is a node that is not declared dead.
type aliveNode struct{ id, beatAt int64 }

func (t *tx) aliveNodes() ([]aliveNode, error) {
	var alive []aliveNode
	s := t.stmt("nodes_alive")
	return alive, each(s, func() error {
		alive = append(alive, aliveNode{s.readInt(), s.readInt()})
		return nil
	})
}

// overdue returns the nodes whose heartbeat is too old.
func overdue(alive []aliveNode, now int64, params store.RescueParams) []int64 {
	var late []int64
	for _, n := range alive {
		if now-n.beatAt >= params.DeadAfter.Microseconds() {
			late = append(late, n.id)
		}
	}
	return late
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
			jobs, err := t.rescueRecord(r, params)
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

func (t *tx) rescueRecord(r *claimRecord, params store.RescueParams) ([]store.Rescued, error) {
	var rescued []store.Rescued
	for slot := range r.slots() {
		if !r.runs(slot) {
			continue
		}
		done := r.done
		err := t.savepoint(func() error {
			job, found, err := t.rescueJob(r, slot, params)
			if err == nil && found {
				rescued = append(rescued, job)
			}
			return err
		})
		if err != nil {
			r.done = done
			if store.IsRetryable(classify("rescue", err)) { // it is the database, not the job
				return nil, err
			}
		}
	}
	return rescued, nil
}

// rescueJob ends the run of a job whose node is dead. It finds no job if the slot's body is gone, which would be a bug.
func (t *tx) rescueJob(r *claimRecord, slot int, params store.RescueParams) (rescued store.Rescued, found bool, err error) {
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
	e := &ending{state: store.Failed, reason: store.ReasonCrashLoop, taken: true, durable: durable, uncounted: grown}
	// A requested cancel comes before the decision that no attempt is left, unless the job is ending itself already.
	if delay, retry := params.Decide(lost); retry || asked.cancel != nil && !b.Closing {
		e.state, e.reason, e.runAt = store.Retryable, store.ReasonNodeLost, t.now+delay.Microseconds()
	}
	state, reason, err := t.endRun(b, r, l, e)
	return store.Rescued{Job: b.ID, Node: r.node, State: state, Reason: reason, Queue: b.Queue, RunAt: b.RunAt}, true, err
}
