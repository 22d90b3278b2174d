package sqlite

import (
	"errors"
	"math"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// mayStart finds out whether nothing is in the way of the jobs of the batch that are to run at once.
func (t *tx) mayStart(batch *store.Batch) error {
	t.starts, t.started = false, nil
	start := batch.Start
	if start == nil {
		return nil
	}
	start.Claimed = nil
	if _, err := t.nodeAlive(start.Node); errors.Is(err, store.ErrNodeDead) {
		return nil
	} else if err != nil {
		return err
	}
	if r, err := t.record(recordName{start.Node, start.Seq}); err != nil {
		return err
	} else if r.exists {
		return nil // it has happened before
	}
	paused, err := t.pausedQueues()
	if err != nil {
		return err
	}
	free := []*lane{}
	for _, q := range batch.Enqueues {
		if !q.MayStart() || q.Job.Check() != nil || runAtOf(q, t.now) > t.now {
			continue
		}
		l, err := t.lane(laneName{q.Job.Namespace, q.Job.Queue, q.Job.Kind, q.Job.Priority})
		if err != nil {
			return err
		}
		if slices.Contains(free, l) {
			continue
		}
		if slices.Contains(paused, l.queue) {
			return nil
		}
		if busy, err := t.hasReady(l); err != nil || busy {
			return err
		}
		free = append(free, l)
	}
	if t.starts = len(free) > 0; t.starts {
		t.started = make([]store.Claimed, 0, batch.Starting())
	}
	return nil
}

// hasReady reports whether a job is waiting in a lane.
func (t *tx) hasReady(l *lane) (bool, error) {
	s := t.stmt("lane_pointers")
	s.bindInt(l.id)
	s.bindInt(math.MinInt64)
	bindID(s, store.ID{})
	s.bindInt(1)
	return exists(s)
}

// startLater notes a job that was inserted and runs at once. It has no pointer.
func (t *tx) startLater(q *store.Enqueue) {
	q.Result.State = store.Running
	t.started = append(t.started, q.Started(store.Lease{}, q.Result.RunAt, timeOf(t.now)))
}

// start claims what was noted. If the batch is a repeated one, it answers what that has claimed before.
func (t *tx) start(batch *store.Batch) (err error) {
	start := batch.Start
	if start == nil {
		return nil
	}
	params := store.ClaimParams{Node: start.Node, Seq: start.Seq, Limit: batch.Starting()}
	if len(t.started) > 0 {
		start.Claimed = t.started
		return t.writeClaims(params, t.started)
	}
	// A dead node runs nothing, even while a rescue has not come to all that it held.
	if _, err := t.nodeAlive(start.Node); errors.Is(err, store.ErrNodeDead) {
		return nil
	} else if err != nil {
		return err
	}
	start.Claimed, err = t.claimedBefore(params)
	return err
}

// runAtOf returns when the job is to run.
func runAtOf(q *store.Enqueue, now int64) int64 {
	if q.Job.RunAt.IsZero() {
		return now + max(q.Delay, 0).Microseconds()
	}
	return q.Job.RunAt.UnixMicro()
}
