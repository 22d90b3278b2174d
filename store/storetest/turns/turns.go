// Package turns decides for the model which jobs with fair keys a claim takes, as store.FairShards
// says it: by sorting all that there are.
//
// It imports only store.
package turns

import (
	"cmp"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// team are jobs that take turns.
type team struct {
	demand   int
	queue    string
	priority int
}

func teamOf(j *store.Job, demands []store.QueueDemand) team {
	return team{store.DemandFor(demands, j.Queue, j.ClaimKind()), j.Queue, j.Priority}
}

// Claim is what a claim may take. J is what the model has of a job.
type Claim[J any] struct {
	// Places are those that the claim fills, in their order: jobs without fair keys, and of each
	// team as many as the claim may take of it.
	Places []J

	job    func(J) *store.Job
	params *store.ClaimParams
	lines  map[team][]J
}

// Of returns what a claim may take of the jobs that are due, best first.
func Of[J any](due []J, job func(J) *store.Job, params *store.ClaimParams) *Claim[J] {
	c := &Claim[J]{job: job, params: params, lines: map[team][]J{}}
	for _, j := range due {
		if job(j).Options.FairKey != "" {
			of := teamOf(job(j), params.Queues)
			c.lines[of] = append(c.lines[of], j)
		}
	}
	among := map[store.ID]bool{}
	for of, line := range c.lines {
		most := params.Limit
		if of.demand >= 0 {
			most = min(most, params.Queues[of.demand].Limit)
		}
		line = inTurn(line, job, params.Turn())
		line = line[:max(0, min(len(line), most))]
		for _, j := range line {
			among[job(j).ID] = true
		}
		c.lines[of] = line
	}
	for _, j := range due {
		if job(j).Options.FairKey == "" || among[job(j).ID] {
			c.Places = append(c.Places, j)
		}
	}
	return c
}

// inTurn sorts the jobs of a team: the first of each shard, from that of the turn on, then the
// second of each, and so on.
func inTurn[J any](line []J, job func(J) *store.Job, turn int64) []J {
	place, counts := map[store.ID]int{}, map[int]int{}
	var shards []int
	shardOf := func(j J) int { return store.FairShard(job(j).Options.FairKey) }
	for _, j := range line {
		shard := shardOf(j)
		if counts[shard] == 0 {
			shards = append(shards, shard)
		}
		place[job(j).ID] = counts[shard]
		counts[shard]++
	}
	slices.Sort(shards)
	first := int(turn * int64(len(shards)) >> 32)
	rank := func(j J) int {
		return (slices.Index(shards, shardOf(j)) - first + len(shards)) % len(shards)
	}
	slices.SortFunc(line, func(a, b J) int {
		return cmp.Or(cmp.Compare(place[job(a).ID], place[job(b).ID]), cmp.Compare(rank(a), rank(b)))
	})
	return line
}

// Take returns who takes a place, of those that may run. It reports false if there are none.
func (c *Claim[J]) Take(place J, runs func(J) bool) (taken J, ok bool) {
	if c.job(place).Options.FairKey == "" {
		return place, runs(place)
	}
	of := teamOf(c.job(place), c.params.Queues)
	at := slices.IndexFunc(c.lines[of], runs)
	if at < 0 {
		return taken, false
	}
	taken = c.lines[of][at]
	c.lines[of] = c.lines[of][at+1:]
	return taken, true
}
