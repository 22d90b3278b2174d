package crashtest

import (
	"slices"

	"github.com/holdfastdev/holdfast"
)

// turn is the time for which a job has the turn of its ordering key: from its first start until it
// has finished. A job that was retried has two.
type turn struct {
	n        int
	again    bool
	from, to int // places in the file
}

// order checks that the jobs of an ordering key run one at a time, in the order of the plan.
func (v *verifier) order(jobs map[holdfast.ID]*jobHistory) {
	keys := map[string][]turn{}
	runs := v.runPlaces()
	for id, j := range jobs {
		if j.Key != "" {
			keys[j.Key] = append(keys[j.Key], v.turns(j, runs[id])...)
		}
	}
	for key, turns := range keys {
		slices.SortFunc(turns, func(a, b turn) int { return a.from - b.from })
		for i := 1; i < len(turns); i++ {
			if before, t := turns[i-1], turns[i]; t.from < before.to {
				v.wrongf(t.n, "of %s started before job %d had finished", key, before.n)
			}
		}
		first := slices.DeleteFunc(turns, func(t turn) bool { return t.again })
		for i := 1; i < len(first); i++ {
			if before, t := first[i-1], first[i]; t.n < before.n {
				v.wrongf(before.n, "of %s started before job %d, which was enqueued before it", key, t.n)
			}
		}
	}
}

// runPlaces are the places in the file of the first and the last record of each run.
func (v *verifier) runPlaces() map[holdfast.ID]map[int64][2]int {
	places := map[holdfast.ID]map[int64][2]int{}
	for i, e := range v.history.effects {
		if places[e.Job] == nil {
			places[e.Job] = map[int64][2]int{}
		}
		at, ok := places[e.Job][e.Lease]
		if !ok {
			at[0] = i
		}
		at[1] = i
		places[e.Job][e.Lease] = at
	}
	return places
}

// turns are those of one job, as far as it ran.
func (v *verifier) turns(j *jobHistory, runs map[int64][2]int) []turn {
	lives := [][2]int64{{1, j.LeaseNumber}}
	if j.retry != nil {
		lives = [][2]int64{{1, j.retry.lease}, {j.retry.lease + 1, j.LeaseNumber}}
	}
	var turns []turn
	for i, leases := range lives {
		t := turn{n: j.N, again: i > 0, from: -1, to: -1}
		for lease := leases[0]; lease <= leases[1]; lease++ {
			at, ran := runs[lease]
			if !ran {
				continue
			}
			if t.from < 0 || at[0] < t.from {
				t.from = at[0]
			}
			if !v.taken(j.ended[lease]) { // a slow node may write on when the job has finished
				t.to = max(t.to, at[1])
			}
		}
		if t.to >= 0 {
			turns = append(turns, t)
		}
	}
	return turns
}
