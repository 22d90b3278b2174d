package tend

import (
	"context"
	"math"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// idleDays is for how many days a lane, or a queue, that is removed was not used.
const idleDays = 2

// A lane that is not used any more goes in two steps, so that it costs as little to find out as if
// the jobs of each lane were counted, which they are not.
//
// First, when no job was put into it for two days, it is looked at. What is unfinished in it
// has a pointer or a claim, what failed or was cancelled stands in an index. If there is none of
// these, all its jobs have completed by now, and none of them runs again; the lane is marked as
// idle since now. What puts a job into it later takes the mark away. Otherwise it is looked at
// again in two days.
//
// Then, when the first job in the file to have completed did so after that, the lane has no job
// left, and is removed. So a lane outlives its last job by as long as completed jobs are kept, and
// two days. Where they are kept for ever so is it.
//
// None of this relies on the clock being right. Days decide only when to look, and the time of a
// mark is not before that at which any job has completed.

// markLanes looks at up to limit lanes that were not used for days, and tells whether there are
// more.
func (v Verbs) markLanes(ctx context.Context, limit int) (looked int, more bool, err error) {
	err = v.d.WriteIf(ctx, "remove old jobs",
		func(t *core.Tx) (bool, error) {
			lanes, err := lanesUnused(t, limit+1)
			looked, more = 0, len(lanes) > limit
			return len(lanes) > 0 && limit > 0, err
		},
		func(t *core.Tx) error {
			lanes, err := lanesUnused(t, limit+1)
			if err != nil {
				return err
			}
			if more = len(lanes) > limit; more {
				lanes = lanes[:limit]
			}
			looked = len(lanes)
			return markIdle(t, lanes)
		})
	return looked, more, err
}

// unusedLane is a lane that may be idle.
type unusedLane struct {
	id, queue int64
	usedOn    int64
}

// lanesUnused returns lanes that were last used days ago, or on a day that has not come yet.
func lanesUnused(t *core.Tx, limit int) ([]unusedLane, error) {
	var lanes []unusedLane
	s := t.Stmt("lanes_unused")
	s.BindInt(t.Today() - idleDays)
	s.BindInt(t.Today())
	s.BindInt(int64(limit))
	return lanes, db.Each(s, func() error {
		lanes = append(lanes, unusedLane{s.ReadInt(), s.ReadInt(), s.ReadInt()})
		return nil
	})
}

// markIdle marks those of the lanes that are idle, and notes that the others are used today.
func markIdle(t *core.Tx, lanes []unusedLane) error {
	since, err := lastCompleted(t)
	if err != nil {
		return err
	}
	since = max(since, t.Now)
	used, err := lanesRunning(t)
	if err != nil {
		return err
	}
	for _, l := range lanes {
		busy := used[l.id] || l.usedOn > t.Today()
		if !busy {
			if busy, err = laneInUse(t, l); err != nil {
				return err
			}
		}
		if busy {
			if err := t.SetLaneUsed(l.id); err != nil {
				return err
			}
			continue
		}
		s := t.Stmt("lane_idle")
		s.BindInt(since)
		s.BindInt(l.id)
		if err := db.Exec(s); err != nil {
			return err
		}
	}
	return nil
}

// laneInUse reports whether a job of the lane has a pointer, or has failed or was cancelled. What
// waits for the turn of an ordering key is not looked up by lane; then the whole queue is in use.
func laneInUse(t *core.Tx, l unusedLane) (bool, error) {
	s := t.Stmt("lane_in_use")
	for range 4 {
		s.BindInt(l.id)
	}
	s.BindInt(l.queue)
	return db.Exists(s)
}

// lanesRunning returns the lanes of which a job runs.
func lanesRunning(t *core.Tx) (map[int64]bool, error) {
	runs, err := t.RunningJobs()
	if err != nil {
		return nil, err
	}
	lanes := map[int64]bool{}
	for id := range runs {
		lane, found, err := jobLane(t, id)
		if err != nil {
			return nil, err
		}
		if found {
			lanes[lane] = true
		}
	}
	return lanes, nil
}

// jobLane returns the id of a job's lane.
func jobLane(t *core.Tx, id store.ID) (lane int64, found bool, err error) {
	s := t.Stmt("job_lane")
	db.BindID(s, id)
	if found, err = s.Next(); err != nil || !found {
		return 0, false, err
	}
	defer s.Done()
	return s.ReadInt(), true, nil
}

// lastCompleted returns when the last job completed, by the clock of then.
func lastCompleted(t *core.Tx) (int64, error) { return oneTime(t, "completed_last", math.MinInt64) }

// firstCompleted returns when the first job completed that is still there, or never.
func firstCompleted(t *core.Tx) (int64, error) { return oneTime(t, "completed_first", db.Never) }

// oneTime returns what a statement returns, or none if it returns no row.
func oneTime(t *core.Tx, statement string, none int64) (int64, error) {
	s := t.Stmt(statement)
	found, err := s.Next()
	if err != nil || !found {
		return none, err
	}
	defer s.Done()
	return s.ReadInt(), nil
}

// removeLanes removes up to limit lanes that have no job left, and tells whether there are more.
func (v Verbs) removeLanes(ctx context.Context, limit int) (removed int, more bool, err error) {
	over := func(t *core.Tx) ([]int64, error) {
		first, err := firstCompleted(t)
		if err != nil {
			return nil, err
		}
		var lanes []int64
		st := t.Stmt("lanes_over")
		st.BindInt(first)
		st.BindInt(int64(limit) + 1)
		return lanes, db.Each(st, func() error {
			lanes = append(lanes, st.ReadInt())
			return nil
		})
	}
	err = v.d.WriteIf(ctx, "remove old jobs",
		func(t *core.Tx) (bool, error) {
			lanes, err := over(t)
			removed, more = 0, len(lanes) > limit
			return len(lanes) > 0 && limit > 0, err
		},
		func(t *core.Tx) error {
			lanes, err := over(t)
			if err != nil {
				return err
			}
			if more = len(lanes) > limit; more {
				lanes = lanes[:limit]
			}
			removed = len(lanes)
			for _, id := range lanes {
				st := t.Stmt("lane_delete")
				st.BindInt(id)
				if err := db.Exec(st); err != nil {
					return err
				}
			}
			return nil
		})
	return removed, more, err
}

// removeQueues removes queues that have no lane, are not paused, and are not new. Each call looks
// at a few hundred of them, where the last one ended.
func (v Verbs) removeQueues(ctx context.Context) error {
	removable := func(t *core.Tx) (ids []int64, last int64, err error) {
		st := t.Stmt("queues_page")
		st.BindInt(t.Now)
		st.BindInt(t.Now - idleDays*core.Day)
		st.BindInt(v.queuesSeen.Load())
		st.BindInt(retainChunk)
		n := 0
		err = db.Each(st, func() error {
			last = st.ReadInt()
			if st.ReadInt() != 0 {
				ids = append(ids, last)
			}
			n++
			return nil
		})
		if n < retainChunk {
			last = 0 // from the beginning again
		}
		return ids, last, err
	}
	var seen int64
	err := v.d.WriteIf(ctx, "remove old jobs",
		func(t *core.Tx) (bool, error) {
			ids, last, err := removable(t)
			seen = last
			return len(ids) > 0, err
		},
		func(t *core.Tx) error {
			ids, _, err := removable(t)
			if err != nil {
				return err
			}
			for _, id := range ids {
				st := t.Stmt("queue_delete")
				st.BindInt(id)
				if err := db.Exec(st); err != nil {
					return err
				}
			}
			return nil
		})
	if err == nil {
		v.queuesSeen.Store(seen)
	}
	return err
}
