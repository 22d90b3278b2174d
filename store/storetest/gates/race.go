package gates

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/crowd"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var raceTests = env.Tests{
	"LimitsHold_many_claimers_and_slow_finishers":            raceClaims,
	"LimitsHold_people_and_rescues_come_between":             racePeople,
	"LimitsHold_the_last_slot_of_a_key":                      raceLastSlot,
	"NoLoss_the_last_run_ends_as_others_come_to_wait_for_it": raceHandOn,
}

// counting counts what runs of each key, from the claim until an end is sent.
type counting struct {
	capacity int64
	seen     crowd.Tally // what was claimed
	all      int         // how many there are
	patience int         // how often a claimer looks in vain
	counts   sync.Map    // key to *atomic.Int64
}

func (c *counting) of(job *store.Job) *atomic.Int64 {
	n, _ := c.counts.LoadOrStore(job.Options.LimitKey, new(atomic.Int64))
	return n.(*atomic.Int64) //nolint:errcheck,forcetypeassert // it has nothing else
}

func (c *counting) begin(runs []store.Claimed) error {
	for i := range runs {
		if key := runs[i].Job.Options.LimitKey; key != "" {
			if n := c.of(&runs[i].Job).Add(1); n > c.capacity {
				return fmt.Errorf("%d jobs of the key %s run, and %d may", n, key, c.capacity)
			}
		}
	}
	return nil
}

func (c *counting) end(runs []store.Claimed) {
	for i := range runs {
		c.of(&runs[i].Job).Add(-1)
	}
}

// work claims and ends jobs until there is nothing left: the ends of what was claimed come after
// further claims, and in batches.
func work(e *env.Env, node int64, c *counting, ending func(*rand.Rand, []store.Claimed) error) error {
	random := rand.New(rand.NewPCG(uint64(node), 3))
	var held []store.Claimed
	for idle := 0; ; {
		runs, err := crowd.ClaimNow(e, e.Demand(node, 1+random.IntN(12)))
		if err != nil {
			return err
		}
		if err := c.begin(runs); err != nil {
			return err
		}
		c.seen.Add(env.ClaimedIDs(runs)...)
		held = append(held, runs...)
		if n := random.IntN(len(held) + 1); n > 0 && (len(runs) == 0 || random.IntN(2) == 0) {
			c.end(held[:n])
			if err := ending(random, held[:n]); err != nil {
				return err
			}
			held = held[n:]
			idle = 0
		}
		if len(runs) > 0 {
			idle = 0
			continue
		}
		if _, err := e.Store.Promote(e.Ctx, 1000); err != nil {
			return err
		}
		e.Clock.Advance(time.Millisecond)
		if idle++; len(held) == 0 && (c.seen.Len() >= c.all || idle > c.patience) {
			return nil
		}
	}
}

func raceClaims(e *env.Env) {
	const claimers, keys, jobs, capacity = 5, 6, 300, 2
	perKey(e, capacity)
	nodes := crowd.Joined(e, claimers)
	c := &counting{capacity: capacity, all: jobs, patience: crowd.Patience}
	var ids []store.ID
	for i := range jobs {
		ids = append(ids, e.Add(by(strconv.Itoa(i%keys)), env.Priority(1+i%4)))
	}
	crowd.Together(e, claimers, func(i int) error {
		return work(e, nodes[i], c, func(_ *rand.Rand, runs []store.Claimed) error {
			return crowd.EndNow(e, &store.Batch{Outcomes: crowd.Completions(runs)})
		})
	})
	crowd.WantOnce(e, "claimed", &c.seen, ids)
	e.Equal("waiting", e.Count(store.Filter{States: []store.State{store.Available}}), 0)
}

// racePeople: runs end in many ways, and jobs that wait are cancelled, paused and moved meanwhile.
func racePeople(e *env.Env) {
	const claimers, keys, jobs, capacity = 4, 4, 100, 2
	states := []store.State{
		store.Completed, store.Completed, store.Failed, store.Available, store.Retryable,
	}
	perKey(e, capacity)
	nodes := crowd.Joined(e, claimers)
	c := &counting{capacity: capacity, all: jobs, patience: 100}
	var ids []store.ID
	for i := range jobs {
		ids = append(ids, e.Add(by(strconv.Itoa(i%keys))))
	}
	crowd.Together(e, claimers+1, func(i int) error {
		if i == claimers {
			random := rand.New(rand.NewPCG(7, 7))
			for range 60 {
				id := ids[random.IntN(len(ids))]
				if err := meddle(e, random, id); err != nil {
					return err
				}
			}
			return nil
		}
		return work(e, nodes[i], c, func(random *rand.Rand, runs []store.Claimed) error {
			batch := &store.Batch{}
			for _, run := range runs {
				state := states[random.IntN(len(states))]
				again := func(o *store.Outcome) { o.RunAt = e.Clock.Now() }
				batch.Outcomes = append(batch.Outcomes, env.Outcome(run, state, again))
			}
			return crowd.EndNow(e, batch)
		})
	})
	for _, id := range e.ListIDs(store.Filter{States: []store.State{store.Waiting}}) {
		e.Resume(env.Resumption(id), store.Available)
	}
	for range 100 {
		if e.Count(store.Filter{States: []store.State{store.Available, store.Retryable}}) == 0 {
			break
		}
		e.Clock.Advance(10 * time.Second)
		for _, node := range nodes {
			e.Beat(node)
			e.EndAll(e.Claim(node, 50), store.Completed)
		}
	}
	if left := e.Count(store.Filter{States: []store.State{store.Available, store.Retryable, store.Running, store.Waiting}}); left != 0 {
		e.Fatalf("%d jobs are left", left)
	}
}

// meddle does what people do to jobs.
func meddle(e *env.Env, random *rand.Rand, id store.ID) error {
	switch random.IntN(3) {
	case 0:
		_, err := crowd.CancelNow(e, []store.ID{id})
		return err
	case 1:
		e.TryPause(id)
	default:
		priority := 1 + random.IntN(4)
		_, _ = e.TryEdit(env.Edits(id, store.Edit{Priority: &priority})) // it may run, or have ended
	}
	return nil
}

// raceLastSlot: of two nodes that claim jobs of one key one gets its slot.
func raceLastSlot(e *env.Env) {
	perKey(e, 1)
	nodes := crowd.Joined(e, 3)
	for range 15 {
		e.Many(3, by("acme"))
		var mu sync.Mutex
		var got []store.Claimed
		crowd.Together(e, len(nodes), func(i int) error {
			runs, err := crowd.ClaimNow(e, e.Demand(nodes[i], 1))
			mu.Lock()
			defer mu.Unlock()
			got = append(got, runs...)
			return err
		})
		if len(got) > 1 {
			e.Fatalf("%d jobs run, and one may", len(got))
		}
		for n := len(got); n < 3; n++ {
			e.EndAll(got[:min(1, len(got))], store.Completed)
			if got = e.Claim(nodes[0], 3); len(got) != 1 {
				e.Fatalf("after %d of three jobs %d run, want one", n, len(got))
			}
		}
		e.EndAll(got, store.Completed)
	}
}

// raceHandOn: the one job that runs ends while the others come to wait for it.
func raceHandOn(e *env.Env) {
	perKey(e, 1)
	nodes := crowd.Joined(e, 2)
	for range 20 {
		run := e.ClaimOne(nodes[0], e.Add(by("acme")))
		e.Many(5, by("acme"))
		crowd.Together(e, 2, func(i int) error {
			if i == 0 {
				return crowd.EndNow(e, crowd.Ending(env.Outcome(run, store.Completed)))
			}
			runs, err := crowd.ClaimNow(e, e.Demand(nodes[1], 5))
			if err != nil || len(runs) == 0 {
				return err
			}
			return crowd.EndNow(e, &store.Batch{Outcomes: crowd.Completions(runs)})
		})
		for n := 0; e.Count(store.Filter{States: []store.State{store.Available}}) > 0; n++ {
			if n > 20 {
				e.Fatal("jobs wait, and nothing runs")
			}
			e.Clock.Advance(10 * time.Second)
			e.Beat(nodes[0])
			e.Beat(nodes[1])
			e.Promote()
			e.EndAll(e.Claim(nodes[1], 5), store.Completed)
		}
	}
}
