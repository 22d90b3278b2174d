package gating

import (
	"fmt"
	"slices"

	"github.com/holdfastdev/holdfast/internal/gcra"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/gates"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// judging decides in one claim which jobs run that count in limits per key.
type judging struct {
	t      *core.Tx
	params *store.ClaimParams
	paused []int64
	live   map[int64]int // with those that it has let through before
	rules  map[limitName]core.GateRule
	waits  bool // jobs wait at gates
	gated  int  // how many were put behind their gates
	heads  int  // of gates that nothing bounds, which it has seen
}

type limitName struct{ namespace, name string }

// Take takes the best jobs for a claim, and returns their lanes.
type Take func(t *core.Tx, params store.ClaimParams) ([]store.Claimed, []*core.Lane, error)

// IsGated reports whether the jobs of a lane count in a limit per key.
func IsGated(l *core.Lane) bool { return l.Limit != "" }

// Judge returns those of the jobs that a claim has taken, of these lanes, that run, and takes
// others in the place of those that do not.
func Judge(t *core.Tx, params store.ClaimParams, taken []store.Claimed, lanes []*core.Lane, take Take) (all []store.Claimed, err error) {
	if params.Passed != nil {
		*params.Passed = store.Passed{}
	}
	j := &judging{t: t, params: &params, rules: map[limitName]core.GateRule{}}
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
			params.Passed.Jobs, params.Passed.More = j.gated, j.gated >= gates.Most
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
	behind  bool // a job was put behind it

	rated bool
	key   gcra.Key
	kept  core.Kept
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
		found[n].behind = true
		if err := j.t.Gate(job, lane); err != nil {
			return nil, err
		}
	}
	for i := range found {
		if err := j.leave(&found[i]); err != nil {
			return nil, err
		}
	}
	return through, nil
}

// leave lets jobs go on that wait at a gate and may run beside those that were let through, and
// writes down where its rate stands.
func (j *judging) leave(g *seen) error {
	j.live[g.id] += g.Through()
	released := len(g.Released())
	for _, w := range g.waiting[:released] {
		if err := j.t.Ungate(w); err != nil {
			return err
		}
	}
	if g.Unbounded && g.behind {
		j.t.TouchGate(g.id)
	}
	if !g.rated {
		return nil
	}
	waits := g.behind || len(g.waiting) > released
	if !waits && g.kept.Waits() { // some did before
		var err error
		if waits, err = j.t.AnyAt(g.id); err != nil {
			return err
		}
	}
	g.key.Take(g.Through())
	at := int64(0)
	if waits {
		at = g.key.LookAt(j.t.Now, released)
	}
	if at > 0 && j.params.Passed != nil {
		j.params.Passed.Waits(db.TimeOf(at))
	}
	return j.t.KeepKey(g.id, g.key, g.kept, at)
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
	rule, err := j.ruleOf(lane)
	if err != nil {
		return g, err
	}
	g.id, g.Unbounded, g.Free, g.rated = gate, !rule.Bounded, rule.Capacity-j.live[gate], rule.Rated
	if g.rated {
		if g.key, g.kept, err = j.t.Key(gate, rule); err != nil {
			return g, err
		}
		g.Free = min(g.Free, g.key.Free())
	}
	most := min(g.Free, gates.Portion)
	if g.Unbounded { // one at least, so that no job overtakes those that wait
		most = max(1, gates.Portion-j.heads)
	}
	if most <= 0 || !j.waits {
		return g, nil
	}
	g.waiting, err = j.t.GateHeads(gate, most, func(l *core.Lane) bool {
		return slices.Contains(j.params.Kinds, l.Claims) && !slices.Contains(j.paused, l.Queue)
	})
	for _, h := range g.waiting {
		g.Heads = append(g.Heads, h.Place)
	}
	if g.Unbounded {
		j.heads += len(g.waiting)
	}
	return g, err
}

// ruleOf is what the limit of a lane lets each key do.
func (j *judging) ruleOf(l *core.Lane) (r core.GateRule, err error) {
	name := limitName{l.Namespace, l.Limit}
	r, known := j.rules[name]
	if !known {
		if r, err = j.t.GateRule(l.Namespace, l.Limit); err == nil {
			j.rules[name] = r
		}
	}
	return r, err
}
