package sqlite

import (
	"context"
	"math"

	"github.com/holdfastdev/holdfast/store"
)

// idleDays is for how many days nobody has used a lane, or a queue, that is removed.
const idleDays = 2

// A lane that is not used any more goes in two steps, so that it costs as little to find out as if
// somebody counted the jobs of each lane, which nobody does.
//
// First, when nobody has put a job into it for two days, it is looked at. What is unfinished in it
// has a pointer or a claim, what failed or was cancelled stands in an index. If there is none of
// these, all its jobs have completed by now, and none of them runs again; the lane is marked as
// idle since now. Whoever puts a job into it later takes the mark away. Otherwise it is looked at
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
func (v tendVerbs) markLanes(ctx context.Context, limit int) (looked int, more bool, err error) {
	err = v.d.writeIf(ctx, "remove old jobs",
		func(t *tx) (bool, error) {
			lanes, err := t.lanesUnused(limit + 1)
			looked, more = 0, len(lanes) > limit
			return len(lanes) > 0 && limit > 0, err
		},
		func(t *tx) error {
			lanes, err := t.lanesUnused(limit + 1)
			if err != nil {
				return err
			}
			if more = len(lanes) > limit; more {
				lanes = lanes[:limit]
			}
			looked = len(lanes)
			return t.markIdle(lanes)
		})
	return looked, more, err
}

// unusedLane is a lane that may be idle.
type unusedLane struct {
	id, queue int64
	usedOn    int64
}

// lanesUnused returns lanes that were last used days ago, or on a day that has not come yet.
func (t *tx) lanesUnused(limit int) ([]unusedLane, error) {
	var lanes []unusedLane
	s := t.stmt("lanes_unused")
	s.bindInt(t.today() - idleDays)
	s.bindInt(t.today())
	s.bindInt(int64(limit))
	return lanes, each(s, func() error {
		lanes = append(lanes, unusedLane{s.readInt(), s.readInt(), s.readInt()})
		return nil
	})
}

// markIdle marks those of the lanes that are idle, and notes that the others are used today.
func (t *tx) markIdle(lanes []unusedLane) error {
	since, err := t.lastCompleted()
	if err != nil {
		return err
	}
	since = max(since, t.now)
	used, err := t.lanesRunning()
	if err != nil {
		return err
	}
	for _, l := range lanes {
		busy := used[l.id] || l.usedOn > t.today()
		if !busy {
			if busy, err = t.laneInUse(l); err != nil {
				return err
			}
		}
		if busy {
			if err := t.setLaneUsed(l.id); err != nil {
				return err
			}
			continue
		}
		s := t.stmt("lane_idle")
		s.bindInt(since)
		s.bindInt(l.id)
		if err := exec(s); err != nil {
			return err
		}
	}
	return nil
}

// laneInUse reports whether a job of the lane has a pointer, or has failed or was cancelled. What
// waits for the turn of an ordering key is not looked up by lane; then the whole queue is in use.
func (t *tx) laneInUse(l unusedLane) (bool, error) {
	s := t.stmt("lane_in_use")
	s.bindInt(l.id)
	s.bindInt(l.id)
	s.bindInt(l.id)
	s.bindInt(l.queue)
	return exists(s)
}

// lanesRunning returns the lanes of which a job runs.
func (t *tx) lanesRunning() (map[int64]bool, error) {
	runs, err := t.runningJobs()
	if err != nil {
		return nil, err
	}
	lanes := map[int64]bool{}
	for id := range runs {
		lane, found, err := t.jobLane(id)
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
func (t *tx) jobLane(id store.ID) (lane int64, found bool, err error) {
	s := t.stmt("job_lane")
	bindID(s, id)
	if found, err = s.next(); err != nil || !found {
		return 0, false, err
	}
	defer s.done()
	return s.readInt(), true, nil
}

// lastCompleted returns when the last job completed, by the clock of then.
func (t *tx) lastCompleted() (int64, error) { return t.oneTime("completed_last", math.MinInt64) }

// firstCompleted returns when the first job completed that is still there, or never.
func (t *tx) firstCompleted() (int64, error) { return t.oneTime("completed_first", never) }

// oneTime returns what a statement returns, or none if it returns no row.
func (t *tx) oneTime(statement string, none int64) (int64, error) {
	s := t.stmt(statement)
	found, err := s.next()
	if err != nil || !found {
		return none, err
	}
	defer s.done()
	return s.readInt(), nil
}

// removeLanes removes up to limit lanes that have no job left, and tells whether there are more.
func (v tendVerbs) removeLanes(ctx context.Context, limit int) (removed int, more bool, err error) {
	over := func(t *tx) ([]int64, error) {
		first, err := t.firstCompleted()
		if err != nil {
			return nil, err
		}
		var lanes []int64
		st := t.stmt("lanes_over")
		st.bindInt(first)
		st.bindInt(int64(limit) + 1)
		return lanes, each(st, func() error {
			lanes = append(lanes, st.readInt())
			return nil
		})
	}
	err = v.d.writeIf(ctx, "remove old jobs",
		func(t *tx) (bool, error) {
			lanes, err := over(t)
			removed, more = 0, len(lanes) > limit
			return len(lanes) > 0 && limit > 0, err
		},
		func(t *tx) error {
			lanes, err := over(t)
			if err != nil {
				return err
			}
			if more = len(lanes) > limit; more {
				lanes = lanes[:limit]
			}
			removed = len(lanes)
			for _, id := range lanes {
				st := t.stmt("lane_delete")
				st.bindInt(id)
				if err := exec(st); err != nil {
					return err
				}
			}
			return nil
		})
	return removed, more, err
}

// removeQueues removes queues that have no lane, are not paused, and are not new. Each call looks
// at a few hundred of them, where the last one ended.
func (v tendVerbs) removeQueues(ctx context.Context) error {
	removable := func(t *tx) (ids []int64, last int64, err error) {
		st := t.stmt("queues_page")
		st.bindInt(t.now - idleDays*day)
		st.bindInt(v.queuesSeen.Load())
		st.bindInt(retainChunk)
		n := 0
		err = each(st, func() error {
			last = st.readInt()
			if st.readInt() != 0 {
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
	err := v.d.writeIf(ctx, "remove old jobs",
		func(t *tx) (bool, error) {
			ids, last, err := removable(t)
			seen = last
			return len(ids) > 0, err
		},
		func(t *tx) error {
			ids, _, err := removable(t)
			if err != nil {
				return err
			}
			for _, id := range ids {
				st := t.stmt("queue_delete")
				st.bindInt(id)
				if err := exec(st); err != nil {
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
