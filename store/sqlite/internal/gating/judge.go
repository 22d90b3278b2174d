package gating

import (
	"fmt"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/gates"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
)

// judging decides in one claim which jobs run that count in limits per key.
type judging struct {
	t        *core.Tx
	params   *store.ClaimParams
	paused   []int64
	live     map[int64]int // with those that it has let through before
	capacity map[limitName]capacity
	waits    bool // jobs wait at gates
	gated    int  // how many were put behind their gates
}

type limitName struct{ namespace, name string }

// capacity is that of a limit, if it bounds anything.
type capacity struct {
	slots   int
	bounded bool
}

// Take takes the best jobs for a claim, and returns their lanes.
type Take func(t *core.Tx, params store.ClaimParams) ([]store.Claimed, []*core.Lane, error)

// IsGated reports whether the jobs of a lane count in a limit per key.
func IsGated(l *core.Lane) bool { return l.Limit != "" }

// Judge returns those of the jobs that a claim has taken, of these lanes, that run, and takes
// others in the place of those that do not.
func Judge(t *core.Tx, params store.ClaimParams, taken []store.Claimed, lanes []*core.Lane, take Take) (all []store.Claimed, err error) {
	j := &judging{t: t, params: &params, capacity: map[limitName]capacity{}}
	if j.live, err = t.LiveGates(); err != nil {
		return nil, err
	}
	if j.paused, err = t.PausedQueues(); err != nil {
		return nil, err
	}
	for left := params; ; {
		before := j.gated
		through, err := j.judge(taken, lanes)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = through // nearly always these are all: jobs are large
		} else {
			all = append(all, through...)
		}
		if params.Passed != nil {
			*params.Passed = store.Passed{Jobs: j.gated, More: j.gated >= gates.Most}
		}
		if j.gated == before || j.gated >= gates.Most {
			return all, nil
		}
		left.Limit, left.Queues = left.Limit-len(through), gates.LeftOf(left.Queues, through)
		if taken, lanes, err = take(t, left); err != nil || len(taken) == 0 {
			return all, err
		}
	}
}

// seen is a gate as a claim finds it, with what Heads has.
type seen struct {
	gates.Gate
	id      int64
	waiting []core.Gated
}

// judge returns those of the jobs that run, in the same slice. The others wait at their gates; what
// waits there before them, and may run, is in ready again.
func (j *judging) judge(taken []store.Claimed, lanes []*core.Lane) (through []store.Claimed, err error) {
	if j.waits, err = j.t.AnyGated(); err != nil {
		return nil, err
	}
	through, known := taken[:0], lanesByName(lanes)
	found := make([]seen, 0, len(taken))
	at := make(map[int64]int, len(taken)) // index in found
	for i := range taken {
		job := &taken[i].Job
		gate := job.Gate()
		if gate == 0 {
			through = append(through, taken[i])
			continue
		}
		lane := known.of(job)
		if lane == nil {
			return nil, fmt.Errorf("%w: the lane of job %v does not name its limit", store.ErrSchema, job.ID)
		}
		n, ok := at[gate]
		if !ok {
			g, err := j.look(gate, lane)
			if err != nil {
				return nil, err
			}
			n = len(found)
			found, at[gate] = append(found, g), n
		}
		if found[n].Admit(gates.Place{Priority: job.Priority, RunAt: job.RunAt.UnixMicro(), ID: job.ID}) {
			through = append(through, taken[i])
			continue
		}
		j.gated++
		if err := j.t.Gate(job, lane); err != nil {
			return nil, err
		}
	}
	for i := range found {
		g := &found[i]
		j.live[g.id] += g.Through()
		for _, w := range g.waiting[:len(g.Released())] {
			if err := j.t.Ungate(w); err != nil {
				return nil, err
			}
		}
	}
	return through, nil
}

// namedLanes finds the lanes of jobs, of which often many of one lane come one after the other.
type namedLanes struct {
	byName map[core.LaneName]*core.Lane

	lane *core.Lane // the last one, and how its jobs name it
	name store.LaneName
}

func lanesByName(lanes []*core.Lane) *namedLanes {
	n := &namedLanes{byName: make(map[core.LaneName]*core.Lane, len(lanes))}
	for _, l := range lanes {
		n.byName[l.LaneName] = l
	}
	return n
}

func (n *namedLanes) of(job *store.Job) *core.Lane {
	name := job.LaneName()
	if l := n.lane; l == nil || name != n.name || job.Namespace != l.Namespace || job.Queue != l.QueueName || job.Priority != l.Priority {
		n.name = name
		n.lane = n.byName[core.LaneName{Namespace: job.Namespace, QueueName: job.Queue, Kind: name.String(), Priority: job.Priority}]
	}
	return n.lane
}

// look returns a gate as it is now, with what waits there that the claim may take.
func (j *judging) look(gate int64, lane *core.Lane) (g seen, err error) {
	capacity, bounded, err := j.capacityOf(lane)
	g.id, g.Unbounded, g.Free = gate, !bounded, capacity-j.live[gate]
	most := min(g.Free, gates.Portion)
	if g.Unbounded {
		most = gates.Portion
	}
	if err != nil || most <= 0 || !j.waits {
		return g, err
	}
	g.waiting, err = j.t.GateHeads(gate, most, func(l *core.Lane) bool {
		return slices.Contains(j.params.Kinds, l.Claims) && !slices.Contains(j.paused, l.Queue)
	})
	for _, h := range g.waiting {
		g.Heads = append(g.Heads, h.Place)
	}
	return g, err
}

// capacityOf is how many jobs of each key the limit of a lane lets run; false: it bounds none.
func (j *judging) capacityOf(l *core.Lane) (capacity int, bounded bool, err error) {
	name := limitName{l.Namespace, l.Limit}
	c, known := j.capacity[name]
	if !known {
		if c.slots, c.bounded, err = j.t.GateCapacity(l.Namespace, l.Limit); err != nil {
			return 0, false, err
		}
		j.capacity[name] = c
	}
	return c.slots, c.bounded, nil
}
