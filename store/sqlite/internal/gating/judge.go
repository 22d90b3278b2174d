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
	capacity map[[2]string]int
	gated    int // how many were put behind their gates
}

// unbounded is the capacity of a limit that bounds nothing.
const unbounded = -1

// Take takes the best jobs for a claim, and returns their lanes.
type Take func(t *core.Tx, params store.ClaimParams) ([]store.Claimed, []*core.Lane, error)

// IsGated reports whether the jobs of a lane count in a limit per key.
func IsGated(l *core.Lane) bool { return l.Limit != "" }

// Judge returns those of the jobs that a claim has taken, of these lanes, that run, and takes
// others in the place of those that do not.
func Judge(t *core.Tx, params store.ClaimParams, taken []store.Claimed, lanes []*core.Lane, take Take) (all []store.Claimed, err error) {
	j := &judging{t: t, params: &params, capacity: map[[2]string]int{}}
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
		all = append(all, through...)
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

// judge returns those of the jobs that run. The others wait at their gates; what waits there before
// them, and may run, is in ready again.
func (j *judging) judge(taken []store.Claimed, lanes []*core.Lane) (through []store.Claimed, err error) {
	laneOf := make(map[core.LaneName]*core.Lane, len(lanes))
	for _, l := range lanes {
		laneOf[l.LaneName] = l
	}
	found := map[int64]*gates.Gate{}
	waiting := map[int64][]core.Gated{}
	for i := range taken {
		job := &taken[i].Job
		gate := job.Gate()
		if gate == 0 {
			through = append(through, taken[i])
			continue
		}
		lane := laneOf[core.LaneName{Namespace: job.Namespace, QueueName: job.Queue, Kind: job.LaneName().String(), Priority: job.Priority}]
		if lane == nil {
			return nil, fmt.Errorf("%w: the lane of job %v does not name its limit", store.ErrSchema, job.ID)
		}
		g := found[gate]
		if g == nil {
			if g, waiting[gate], err = j.look(gate, lane); err != nil {
				return nil, err
			}
			found[gate] = g
		}
		if g.Admit(gates.Place{Priority: job.Priority, RunAt: job.RunAt.UnixMicro(), ID: job.ID}) {
			through = append(through, taken[i])
			continue
		}
		j.gated++
		if err := j.t.Gate(job, lane); err != nil {
			return nil, err
		}
	}
	for gate, g := range found {
		j.live[gate] += g.Through()
		for _, w := range waiting[gate][:len(g.Released())] {
			if err := j.t.Ungate(w); err != nil {
				return nil, err
			}
		}
	}
	return through, nil
}

// look returns a gate as it is now, with what waits there that the claim may take.
func (j *judging) look(gate int64, lane *core.Lane) (*gates.Gate, []core.Gated, error) {
	name := [2]string{lane.Namespace, lane.Limit}
	capacity, known := j.capacity[name]
	if !known {
		var bounded bool
		var err error
		if capacity, bounded, err = j.t.GateCapacity(lane.Namespace, lane.Limit); err != nil {
			return nil, nil, err
		}
		if !bounded {
			capacity = unbounded
		}
		j.capacity[name] = capacity
	}
	g := &gates.Gate{Unbounded: capacity == unbounded, Free: capacity - j.live[gate]}
	most := min(g.Free, gates.Portion)
	if g.Unbounded {
		most = gates.Portion
	}
	if most <= 0 {
		return g, nil, nil
	}
	heads, err := j.t.GateHeads(gate, most, func(l *core.Lane) bool {
		return slices.Contains(j.params.Kinds, l.Claims) && !slices.Contains(j.paused, l.Queue)
	})
	for _, h := range heads {
		g.Heads = append(g.Heads, h.Place)
	}
	return g, heads, err
}
