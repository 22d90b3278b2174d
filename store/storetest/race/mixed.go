package race

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/crowd"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Races between different operations on the same jobs. In each, two of them want to move the same
// pointer; one does, the other sees what it did.
var raceMixedTests = env.Tests{
	"EveryDueThingHappens_once_if_many_promote":              racePromote,
	"Order_of_a_key_holds_among_many_claimers":               raceOrderingKeys,
	"NoLoss_a_replaced_job_runs_with_what_replaced_it":       raceReplaceClaim,
	"UniqueIsUnique_a_key_is_asked_for_while_it_is_released": raceUniqueRelease,
	"NoLoss_many_move_the_same_waiting_jobs":                 raceMoveDeferred,
	"NoLoss_everything_at_once":                              raceEverything,
}

func racePromote(e *env.Env) {
	const n = 200
	var jobs []*store.Enqueue
	for i := range n {
		jobs = append(jobs, e.Job(env.Delay(time.Duration(i+1)*time.Millisecond)))
	}
	e.Enqueue(jobs...)
	e.Clock.Advance(time.Minute)
	var promoted atomic.Int64
	crowd.Together(e, 4, func(i int) error {
		for quiet := 0; quiet < 3; {
			p, err := e.Store.Promote(e.Ctx, 5+i)
			if err != nil {
				return fmt.Errorf("Promote: %w", err)
			}
			promoted.Add(int64(p.Jobs))
			if !p.More {
				quiet++
			}
		}
		return nil
	})
	for {
		p, err := e.Store.Promote(e.Ctx, 1000)
		e.NoError("Promote", err)
		promoted.Add(int64(p.Jobs))
		if !p.More {
			break
		}
	}
	if promoted.Load() != n {
		e.Fatalf("promoted %d jobs, want %d", promoted.Load(), n)
	}
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(e.Join(), 2*n)), env.IDsOf(jobs)...)
}

// raceOrderingKeys: while jobs are enqueued several nodes promote, claim and finish them, or give
// them back. At no moment do two jobs of a key run, and those of a key run in the order in which
// they were enqueued.
func raceOrderingKeys(e *env.Env) {
	const keys, each, workers = 4, 15, 4
	lines := map[string]*line{}
	for k := range keys {
		lines[fmt.Sprint("key", k)] = &line{}
	}
	var left atomic.Int64
	left.Store(keys * each)
	var batches [][]*store.Enqueue
	for i := range each {
		var batch []*store.Enqueue
		for k := range keys {
			key := fmt.Sprint("key", k)
			q := e.Job(env.Ordered(key), env.Queue(fmt.Sprint("q", k%2)))
			lines[key].order = append(lines[key].order, q.Job.ID)
			batch = append(batch, q)
		}
		// Every other batch is enqueued backwards: the lines are independent of each other.
		if i%2 == 1 {
			slices.Reverse(batch)
		}
		batches = append(batches, batch)
	}
	nodes := crowd.Joined(e, workers)
	crowd.Together(e, workers+1, func(i int) error {
		if i < workers {
			return workInOrder(e, nodes[i], rand.New(rand.NewPCG(uint64(i), 5)), lines, &left)
		}
		for _, batch := range batches {
			if err := crowd.TryNow(e, &store.Batch{Enqueues: batch}); err != nil {
				return err
			}
		}
		return nil
	})
}

// line is an ordering key: its jobs in their order, how many of them run, and which is the next.
type line struct {
	running, next atomic.Int64
	order         []store.ID
}

// workInOrder works until no job is left, and returns an error if one runs that has not the turn.
func workInOrder(e *env.Env, node int64, random *rand.Rand, lines map[string]*line, left *atomic.Int64) error {
	for idle := 0; left.Load() > 0; idle++ {
		if idle > crowd.Patience {
			return fmt.Errorf("NoLoss: %d jobs are left and nobody gets them", left.Load())
		}
		if _, err := e.Store.Promote(e.Ctx, 10); err != nil {
			return fmt.Errorf("Promote: %w", err)
		}
		runs, err := crowd.ClaimNow(e, e.Demand(node, 3))
		if err != nil {
			return err
		}
		batch := &store.Batch{}
		for _, run := range runs {
			idle = 0
			line := lines[run.Job.OrderingKey]
			if line.running.Add(1) != 1 {
				return fmt.Errorf("two jobs of %s run", run.Job.OrderingKey)
			}
			if at := int(line.next.Load()); at == len(line.order) || line.order[at] != run.Job.ID {
				return fmt.Errorf("%v of %s does not run as number %d", run.Job.ID, run.Job.OrderingKey, at)
			}
			state := []store.State{store.Completed, store.Completed, store.Available, store.Failed}[random.IntN(4)]
			batch.Outcomes = append(batch.Outcomes, env.Outcome(run, state))
			if state != store.Available {
				line.next.Add(1)
				left.Add(-1)
			}
			line.running.Add(-1)
		}
		if err := crowd.EndNow(e, batch); err != nil {
			return err
		}
	}
	return nil
}

// raceReplaceClaim: the claim reads the body, the replacement writes it. Replaced means that the
// new body is what runs.
func raceReplaceClaim(e *env.Env) {
	const n = 60
	var holders, replacing []*store.Enqueue
	for i := range n {
		key := env.Unique(fmt.Sprint("key", i))
		holders = append(holders, e.Job(key))
		replacing = append(replacing, e.Job(key, env.OnConflict(store.Replace), env.Priority(1), func(q *store.Enqueue) {
			q.Job.Args, q.Job.Metadata = []byte("new"), []byte(`{"new":true}`)
			q.Delay = time.Duration(i%2) * time.Hour
		}))
	}
	e.Enqueue(holders...)
	node := e.Join()
	var runs []store.Claimed
	crowd.Together(e, 2, func(i int) error {
		if i == 0 {
			for part := range slices.Chunk(replacing, 6) {
				if err := crowd.TryNow(e, &store.Batch{Enqueues: part}); err != nil {
					return err
				}
			}
			return nil
		}
		for range n / 4 {
			some, err := e.Store.Claim(e.Ctx, e.Demand(node, 4))
			if err != nil {
				return fmt.Errorf("Claim: %w", err)
			}
			runs = append(runs, some...)
		}
		return nil
	})
	e.Clock.Advance(time.Hour)
	e.Beat(node)
	runs = append(runs, e.Claim(node, n)...)
	ran := map[store.ID]store.Claimed{}
	for _, run := range runs {
		if _, twice := ran[run.Job.ID]; twice {
			e.Fatalf("job %v was claimed twice", run.Job.ID)
		}
		ran[run.Job.ID] = run
	}
	for i, q := range replacing {
		id := holders[i].Job.ID
		run, ok := ran[id]
		switch {
		case q.Err != nil || q.Result.ID != id:
			e.Fatalf("replace: %+v, %v", q.Result, q.Err)
		case !ok:
			e.Fatalf("NoLoss: job %v never ran", id)
		case q.Result.Replaced != (string(run.Job.Args) == "new"):
			e.Fatalf("replaced: %v, but it ran with %s", q.Result.Replaced, run.Job.Args)
		}
		e.Equal("body", e.Get(id).Job, run.Job)
	}
}

// raceUniqueRelease: a key is free or it has a holder; an enqueue gets one of the two answers,
// and never an answer about a holder that does not exist.
func raceUniqueRelease(e *env.Env) {
	node := e.Join()
	rules := []store.OnConflict{store.ReturnExisting, store.Reject, store.Replace, store.ReturnExisting}
	for range 15 {
		run := e.ClaimOne(node, e.Add(env.Unique("k")))
		asking := make([]*store.Enqueue, 4)
		for i := range asking {
			asking[i] = e.Job(env.Unique("k"), env.OnConflict(rules[i]))
		}
		crowd.Together(e, len(asking)+1, func(i int) error {
			if i == len(asking) {
				return crowd.TryNow(e, crowd.Ending(env.Outcome(run, store.Completed)))
			}
			return crowd.TryNow(e, &store.Batch{Enqueues: []*store.Enqueue{asking[i]}})
		})
		var inserted []store.ID
		for _, q := range asking {
			if q.Err == nil && !q.Result.Existing {
				inserted = append(inserted, q.Job.ID)
			}
		}
		if len(inserted) > 1 {
			e.Fatalf("%d jobs were inserted with one key", len(inserted))
		}
		for _, q := range asking {
			holder := q.Result.ID
			if q.Err != nil {
				var taken *store.UniqueError
				if !errors.As(q.Err, &taken) {
					e.Fatalf("enqueue: %v", q.Err)
				}
				holder = taken.Holder
			}
			if holder != run.Job.ID && !slices.Contains(inserted, holder) {
				e.Fatalf("the answer names %v; the key was held by %v and then by %v", holder, run.Job.ID, inserted)
			}
		}
		e.WantState(run.Job.ID, store.Completed)
		for _, id := range inserted {
			e.End(e.ClaimOne(node, id), store.Completed)
		}
		e.WantFree("k")
	}
}

// raceMoveDeferred: promotions, retries, replacements and cancels move the same pointers.
func raceMoveDeferred(e *env.Env) {
	const n = 60
	var jobs []*store.Enqueue
	for i := range n {
		jobs = append(jobs, e.Job(env.Unique(fmt.Sprint("key", i)), env.Delay(time.Duration(i+1)*time.Millisecond)))
	}
	e.Enqueue(jobs...)
	ids := env.IDsOf(jobs)
	e.Clock.Advance(time.Minute)
	var cancelled crowd.Tally
	crowd.Together(e, 5, func(i int) error {
		random := rand.New(rand.NewPCG(uint64(i), 3))
		mine := slices.Clone(ids)
		random.Shuffle(n, func(a, b int) { mine[a], mine[b] = mine[b], mine[a] })
		for part := range slices.Chunk(mine, 6) {
			if err := moveDeferred(e, i, part, jobs, random, &cancelled); err != nil {
				return err
			}
		}
		return nil
	})
	e.Sweep()
	e.Clock.Advance(time.Hour)
	node := e.Join()
	var ran crowd.Tally
	ran.Add(env.ClaimedIDs(e.Claim(node, 3*n))...)
	e.WantNothing(node)
	for _, id := range ids {
		// A cancelled one may have been retried after it was cancelled, and then it runs.
		state := e.Get(id).State
		if ran.Seen[id] > 1 || (ran.Seen[id] == 1) != (state == store.Running) || (state != store.Running && state != store.Cancelled) {
			e.Fatalf("job %v ran %d times, was cancelled %d times, and is %v", id, ran.Seen[id], cancelled.Seen[id], state)
		}
		if state == store.Cancelled && cancelled.Seen[id] == 0 {
			e.Fatalf("job %v is cancelled, and nobody asked", id)
		}
	}
}

// moveDeferred does the operation of worker i with some of the jobs.
func moveDeferred(e *env.Env, i int, some []store.ID, jobs []*store.Enqueue, random *rand.Rand, cancelled *crowd.Tally) error {
	switch i {
	case 0, 1:
		if _, err := e.Store.Promote(e.Ctx, 7); err != nil {
			return fmt.Errorf("Promote: %w", err)
		}
	case 2:
		if _, _, err := e.Store.Retry(e.Ctx, store.RetryParams{Jobs: some, Actor: "ada"}); err != nil {
			return fmt.Errorf("Retry: %w", err)
		}
	case 3:
		batch := &store.Batch{}
		for _, id := range some {
			at := slices.IndexFunc(jobs, func(q *store.Enqueue) bool { return q.Job.ID == id })
			later := time.Duration(random.IntN(2)) * time.Minute
			batch.Enqueues = append(batch.Enqueues,
				e.Job(env.Unique(string(jobs[at].Job.UniqueKey)), env.OnConflict(store.Replace), env.Delay(later)))
		}
		return crowd.TryNow(e, batch)
	case 4:
		if random.IntN(2) == 0 {
			return nil
		}
		results, err := crowd.CancelNow(e, some)
		if err != nil {
			return err
		}
		for _, r := range results {
			if r.State == store.Running || r.State.Finished() && r.State != store.Cancelled || r.Err != nil {
				return fmt.Errorf("cancel of a job that does not run: %+v", r)
			}
			cancelled.Add(r.Job) // now, or by the sweep, if others moved it all the time
		}
	}
	return nil
}
