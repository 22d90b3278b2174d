package rules

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// fairRule: of the jobs of a queue and a priority that have fair keys a claim takes as many of each
// key as of any other, or all that there are, and at the most one more. Those of a key go in the
// order of time. Of k keys that have jobs a node serves each within 2k claims that follow one
// another, also if each takes one job: the numbers of claims lead to a place of the turn in steps
// of the golden ratio, of which no part of 1/k is left out for longer.
type fairRule struct {
	e     *eye
	waits map[teamOf]*waiting
}

// teamOf are jobs that take turns, as a node claims them.
type teamOf struct {
	node     int64
	queue    string
	priority int
}

// waiting are the shards of a team that have jobs, and in how many claims each was not served.
type waiting struct {
	seq    int64 // of the last claim
	shards []int
	missed map[int]int
}

func newFairRule(e *eye) rule { return &fairRule{e, map[teamOf]*waiting{}} }

func (r *fairRule) check(c *change) {
	p, isClaim := c.params.(store.ClaimParams)
	if !isClaim || c.err != nil || len(c.started) == 0 {
		return
	}
	var seen []teamOf
	for _, j := range c.started {
		if at := (teamOf{p.Node, j.Queue, j.Priority}); j.Options.FairKey != "" && !slices.Contains(seen, at) {
			seen = append(seen, at)
			r.checkTeam(c, &p, at)
		}
	}
}

// checkTeam looks at what a claim took of a team. Where other things than turns decide who goes,
// nothing is said.
func (r *fairRule) checkTeam(c *change, p *store.ClaimParams, at teamOf) {
	taken, left, last := map[int]int{}, map[int][]*job{}, map[int]*job{}
	var before []int
	for _, was := range c.was {
		j := r.e.jobs[was.ID]
		if j == nil || was.Options.FairKey == "" || was.State != store.Available || was.Queue != at.queue || was.Priority != at.priority {
			continue
		}
		demand := store.DemandFor(p.Queues, was.Queue, was.ClaimKind())
		if j.OrderingKey != "" || j.Options.Limit != "" || p.Queues != nil && (demand < 0 || p.Queues[demand].Kind != "") {
			delete(r.waits, at)
			return
		}
		shard := store.FairShard(j.Options.FairKey)
		if !slices.Contains(before, shard) {
			before = append(before, shard)
		}
		if j.State != store.Running {
			left[shard] = append(left[shard], j)
			continue
		}
		if taken[shard]++; last[shard] == nil || follows(c, j, last[shard]) {
			last[shard] = j
		}
	}
	for shard, jobs := range left {
		for _, j := range jobs {
			if last[shard] != nil && follows(c, last[shard], j) {
				play.Brokenf("Fair", "%v starts before %v of the same key", last[shard], j)
			}
		}
		for other, n := range taken {
			if n > taken[shard]+1 {
				play.Brokenf("Fair", "a claim takes %d jobs of the shard %d, and %d of %d, which has %d more", n, other, taken[shard], shard, len(jobs))
			}
		}
	}
	slices.Sort(before)
	r.count(p, at, before, taken)
}

// follows reports whether a job comes after another one of its key.
func follows(c *change, a, b *job) bool {
	return cmp.Or(c.was[a.ID].RunAt.Compare(c.was[b.ID].RunAt), bytes.Compare(a.ID[:], b.ID[:])) > 0
}

// count counts in how many claims a key was left out, as long as the same ones have jobs.
func (r *fairRule) count(p *store.ClaimParams, at teamOf, shards []int, taken map[int]int) {
	known := r.waits[at]
	if known == nil || known.seq+1 != p.Seq || !slices.Equal(known.shards, shards) {
		known = &waiting{shards: shards, missed: map[int]int{}}
		r.waits[at] = known
	}
	known.seq = p.Seq
	for _, shard := range shards {
		if known.missed[shard]++; taken[shard] > 0 {
			known.missed[shard] = 0
		}
		if known.missed[shard] > 2*len(shards) {
			play.Brokenf("Fair", "the shard %d of %v has jobs, and gets none in %d claims", shard, shards, known.missed[shard])
		}
	}
}

func (*fairRule) end() {}
