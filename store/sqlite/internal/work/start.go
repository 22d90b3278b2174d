package work

import (
	"errors"
	"math"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// decideStarts sets t.Starts if nothing is in the way of the jobs of the batch that are to run at
// once.
func decideStarts(t *core.Tx, batch *store.Batch) error {
	t.Starts, t.Started = false, nil
	start := batch.Start
	if start == nil {
		return nil
	}
	start.Claimed = nil
	if _, err := t.NodeAlive(start.Node); errors.Is(err, store.ErrNodeDead) {
		return nil
	} else if err != nil {
		return err
	}
	if r, err := t.Record(core.RecordName{Node: start.Node, Seq: start.Seq}); err != nil {
		return err
	} else if r.Exists {
		return nil // it has happened before
	}
	paused, err := t.PausedQueues()
	if err != nil {
		return err
	}
	free := []*core.Lane{}
	for _, q := range batch.Enqueues {
		if !q.MayStart() || q.Job.Check() != nil || runAtOf(q, t.Now) > t.Now {
			continue
		}
		name := core.LaneName{Namespace: q.Job.Namespace, QueueName: q.Job.Queue, Kind: q.Job.Kind, Priority: q.Job.Priority}
		l, err := t.LaneUnless(name, func() (bool, error) { return t.IsThere(q.Job.ID) })
		if err != nil {
			return err
		}
		if l == nil { // it has been enqueued before
			continue
		}
		if slices.Contains(free, l) {
			continue
		}
		if slices.Contains(paused, l.Queue) {
			return nil
		}
		if busy, err := hasReady(t, l); err != nil || busy {
			return err
		}
		free = append(free, l)
	}
	if t.Starts = len(free) > 0; t.Starts {
		t.Started = make([]store.Claimed, 0, batch.Starting())
	}
	return nil
}

// hasReady reports whether a job is waiting in a lane.
func hasReady(t *core.Tx, l *core.Lane) (bool, error) {
	s := t.Stmt("lane_pointers")
	s.BindInt(l.ID)
	s.BindInt(math.MinInt64)
	db.BindID(s, store.ID{})
	s.BindInt(1)
	return db.Exists(s)
}

// startLater notes a job that was inserted and runs at once. It has no pointer.
func startLater(t *core.Tx, q *store.Enqueue) {
	q.Result.State = store.Running
	t.Started = append(t.Started, q.Started(store.Lease{}, q.Result.RunAt, db.TimeOf(t.Now)))
}

// start claims what was noted. If the batch is a repeated one, it answers what that has claimed
// before.
func start(t *core.Tx, batch *store.Batch) (err error) {
	start := batch.Start
	if start == nil {
		return nil
	}
	params := store.ClaimParams{Node: start.Node, Seq: start.Seq, Limit: batch.Starting()}
	if len(t.Started) > 0 {
		start.Claimed = t.Started
		return writeClaims(t, params, t.Started)
	}
	// A dead node runs nothing, even while a rescue has not come to all that it held.
	if _, err := t.NodeAlive(start.Node); errors.Is(err, store.ErrNodeDead) {
		return nil
	} else if err != nil {
		return err
	}
	start.Claimed, err = claimedBefore(t, params)
	return err
}

// runAtOf returns when the job is to run.
func runAtOf(q *store.Enqueue, now int64) int64 {
	if q.Job.RunAt.IsZero() {
		return now + max(q.Delay, 0).Microseconds()
	}
	return q.Job.RunAt.UnixMicro()
}
