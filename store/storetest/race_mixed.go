package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Races between different operations on the same jobs. In each, two of them want to move the same pointer; one does, the
// other sees what it did.
var raceMixedTests = []test{
	{"EveryDueThingHappens_once_if_many_promote", racePromote},
	{"Order_of_a_key_holds_among_many_claimers", raceOrderingKeys},
	{"NoLoss_a_replaced_job_runs_with_what_replaced_it", raceReplaceClaim},
	{"UniqueIsUnique_a_key_is_asked_for_while_it_is_released", raceUniqueRelease},
	{"NoLoss_many_move_the_same_waiting_jobs", raceMoveDeferred},
	{"NoLoss_everything_at_once", raceEverything},
}

func racePromote(e *env) {
	const n = 200
	var jobs []*store.Enqueue
	for i := range n {
		jobs = append(jobs, e.job(delay(time.Duration(i+1)*time.Millisecond)))
	}
	e.enqueue(jobs...)
	e.clock.Advance(time.Minute)
	var promoted atomic.Int64
	e.together(4, func(i int) error {
		for quiet := 0; quiet < 3; {
			p, err := e.store.Promote(e.ctx, 5+i)
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
		p, err := e.store.Promote(e.ctx, 1000)
		if err != nil {
			e.Fatalf("Promote: %v", err)
		}
		promoted.Add(int64(p.Jobs))
		if !p.More {
			break
		}
	}
	if promoted.Load() != n {
		e.Fatalf("promoted %d jobs, want %d", promoted.Load(), n)
	}
	e.wantIDs("claimed", claimedIDs(e.claim(e.join(), 2*n)), idsOf(jobs)...)
}

// raceOrderingKeys: while jobs are enqueued several nodes promote, claim and finish them, or give them back. At no
// moment do two jobs of a key run, and those of a key run in the order in which they were enqueued.
func raceOrderingKeys(e *env) {
	const keys, each, workers = 4, 15, 4
	type line struct {
		running, next atomic.Int64
		order         []store.ID
	}
	lines := map[string]*line{}
	var left atomic.Int64
	left.Store(keys * each)
	var batches [][]*store.Enqueue
	for i := range each {
		var batch []*store.Enqueue
		for k := range keys {
			key := fmt.Sprint("key", k)
			q := e.job(ordered(key), queue(fmt.Sprint("q", k%2)))
			if lines[key] == nil {
				lines[key] = &line{}
			}
			lines[key].order = append(lines[key].order, q.Job.ID)
			batch = append(batch, q)
		}
		// Every other batch is enqueued backwards: the lines are independent of each other.
		if i%2 == 1 {
			slices.Reverse(batch)
		}
		batches = append(batches, batch)
	}
	nodes := make([]int64, workers)
	for i := range nodes {
		nodes[i] = e.join()
	}
	e.together(workers+1, func(i int) error {
		if i == workers {
			for _, batch := range batches {
				if err := e.tryNow(e.ctx, &store.Batch{Enqueues: batch}); err != nil {
					return err
				}
			}
			return nil
		}
		random := rand.New(rand.NewPCG(uint64(i), 5))
		for idle := 0; left.Load() > 0; idle++ {
			if idle > patience {
				return fmt.Errorf("NoLoss: %d jobs are left and nobody gets them", left.Load())
			}
			if _, err := e.store.Promote(e.ctx, 10); err != nil {
				return fmt.Errorf("Promote: %w", err)
			}
			runs, err := e.store.Claim(e.ctx, e.demand(nodes[i], 3))
			if err != nil {
				return fmt.Errorf("Claim: %w", err)
			}
			batch := &store.Batch{}
			for _, run := range runs {
				idle = 0
				line := lines[run.Job.OrderingKey]
				if line.running.Add(1) != 1 {
					return fmt.Errorf("two jobs of %s run", run.Job.OrderingKey)
				}
				if at := int(line.next.Load()); at == each || line.order[at] != run.Job.ID {
					return fmt.Errorf("%v of %s does not run as number %d", run.Job.ID, run.Job.OrderingKey, at)
				}
				state := []store.State{store.Completed, store.Completed, store.Available, store.Failed}[random.IntN(4)]
				batch.Outcomes = append(batch.Outcomes, outcome(run, state))
				if state != store.Available {
					line.next.Add(1)
					left.Add(-1)
				}
				line.running.Add(-1)
			}
			if err := e.tryNow(e.ctx, batch); err != nil {
				return err
			}
			for _, o := range batch.Outcomes {
				if o.Err != nil {
					return fmt.Errorf("outcome: %w", o.Err)
				}
			}
		}
		return nil
	})
}

// raceReplaceClaim: the claim reads the body, the replacement writes it. Replaced means that the new body is what runs.
func raceReplaceClaim(e *env) {
	const n = 60
	var holders, replacing []*store.Enqueue
	for i := range n {
		key := unique(fmt.Sprint("key", i))
		holders = append(holders, e.job(key))
		replacing = append(replacing, e.job(key, onConflict(store.Replace), priority(1), func(q *store.Enqueue) {
			q.Job.Args, q.Job.Metadata = []byte("new"), []byte(`{"new":true}`)
			q.Delay = time.Duration(i%2) * time.Hour
		}))
	}
	e.enqueue(holders...)
	node := e.join()
	var runs []store.Claimed
	e.together(2, func(i int) error {
		if i == 0 {
			for part := range slices.Chunk(replacing, 6) {
				if err := e.tryNow(e.ctx, &store.Batch{Enqueues: part}); err != nil {
					return err
				}
			}
			return nil
		}
		for range n / 4 {
			some, err := e.store.Claim(e.ctx, e.demand(node, 4))
			if err != nil {
				return fmt.Errorf("Claim: %w", err)
			}
			runs = append(runs, some...)
		}
		return nil
	})
	e.clock.Advance(time.Hour)
	e.beat(node)
	runs = append(runs, e.claim(node, n)...)
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
		e.equal("body", e.get(id).Job, run.Job)
	}
}

// raceUniqueRelease: a key is free or it has a holder; whoever asks gets one of the two answers, and never an answer
// about a holder that nobody knows.
func raceUniqueRelease(e *env) {
	node := e.join()
	rules := []store.OnConflict{store.ReturnExisting, store.Reject, store.Replace, store.ReturnExisting}
	for range 15 {
		run := e.claimOne(node, e.add(unique("k")))
		asking := make([]*store.Enqueue, 4)
		for i := range asking {
			asking[i] = e.job(unique("k"), onConflict(rules[i]))
		}
		e.together(len(asking)+1, func(i int) error {
			if i == len(asking) {
				return e.tryNow(e.ctx, &store.Batch{Outcomes: []*store.Outcome{outcome(run, store.Completed)}})
			}
			return e.tryNow(e.ctx, &store.Batch{Enqueues: []*store.Enqueue{asking[i]}})
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
		e.wantState(run.Job.ID, store.Completed)
		for _, id := range inserted {
			e.end(e.claimOne(node, id), store.Completed)
		}
		e.wantFree("k")
	}
}

// raceMoveDeferred: promotion, an operator's retry, a replacement and a cancel all want the same pointers.
func raceMoveDeferred(e *env) {
	const n = 60
	var jobs []*store.Enqueue
	for i := range n {
		jobs = append(jobs, e.job(unique(fmt.Sprint("key", i)), delay(time.Duration(i+1)*time.Millisecond)))
	}
	e.enqueue(jobs...)
	ids := idsOf(jobs)
	e.clock.Advance(time.Minute)
	var cancelled tally
	e.together(5, func(i int) error {
		random := rand.New(rand.NewPCG(uint64(i), 3))
		mine := slices.Clone(ids)
		random.Shuffle(n, func(a, b int) { mine[a], mine[b] = mine[b], mine[a] })
		for part := range slices.Chunk(mine, 6) {
			switch i {
			case 0, 1:
				if _, err := e.store.Promote(e.ctx, 7); err != nil {
					return fmt.Errorf("Promote: %w", err)
				}
			case 2:
				if _, err := e.store.Retry(e.ctx, store.RetryParams{Jobs: part, Actor: "ada"}); err != nil {
					return fmt.Errorf("Retry: %w", err)
				}
			case 3:
				batch := &store.Batch{}
				for _, id := range part {
					key := string(jobs[slices.Index(ids, id)].Job.UniqueKey)
					later := time.Duration(random.IntN(2)) * time.Minute
					batch.Enqueues = append(batch.Enqueues, e.job(unique(key), onConflict(store.Replace), delay(later)))
				}
				if err := e.tryNow(e.ctx, batch); err != nil {
					return err
				}
			case 4:
				if random.IntN(2) == 0 {
					continue
				}
				results, err := e.store.Cancel(e.ctx, store.CancelParams{Jobs: part, Reason: "r", Actor: "a"})
				if err != nil {
					return fmt.Errorf("Cancel: %w", err)
				}
				for _, r := range results {
					if r.State != store.Cancelled || r.Err != nil {
						return fmt.Errorf("cancel of a job that does not run: %+v", r)
					}
					cancelled.add(r.Job)
				}
			}
		}
		return nil
	})
	e.clock.Advance(time.Hour)
	node := e.join()
	var ran tally
	ran.add(claimedIDs(e.claim(node, 3*n))...)
	e.wantNothing(node)
	for _, id := range ids {
		// A cancelled one may have been retried after it was cancelled, and then it runs.
		state := e.get(id).State
		if ran.seen[id] > 1 || (ran.seen[id] == 1) != (state == store.Running) || (state != store.Running && state != store.Cancelled) {
			e.Fatalf("job %v ran %d times, was cancelled %d times, and is %v", id, ran.seen[id], cancelled.seen[id], state)
		}
		if state == store.Cancelled && cancelled.seen[id] == 0 {
			e.Fatalf("job %v is cancelled, and nobody asked", id)
		}
	}
}

// raceEverything: all operations at once, on the same jobs, in no order. A store may say now and then that it is
// unavailable (a deadlock that the database broke, say); then it is asked again by the rules. In the end every job is
// in one place, and can be brought to its end.
func raceEverything(e *env) {
	const workers, rounds = 6, 25
	s := persistent{e.store}
	var made tally
	var clock atomic.Int64
	e.together(workers, func(i int) error {
		random := rand.New(rand.NewPCG(uint64(i), 4))
		node, err := s.Join(e.ctx, store.NodeInfo{Name: fmt.Sprint("n", i)})
		if err != nil {
			return fmt.Errorf("Join: %w", err)
		}
		var mine []store.ID
		var runs []store.Claimed
		some := func() []store.ID {
			var ids []store.ID
			for range 5 {
				if len(mine) > 0 {
					ids = append(ids, mine[random.IntN(len(mine))])
				}
			}
			return ids
		}
		for round := range rounds {
			batch := &store.Batch{}
			for range 4 {
				q := e.job(queue(fmt.Sprint("q", random.IntN(3))), priority(1+random.IntN(4)), delay(time.Duration(random.IntN(3))*time.Second))
				if random.IntN(3) == 0 {
					unique(fmt.Sprint("key", random.IntN(4)))(q)
					q.OnConflict = store.OnConflict(random.IntN(3))
				}
				if random.IntN(3) == 0 {
					q.Job.OrderingKey = fmt.Sprint("key", random.IntN(4))
				}
				batch.Enqueues = append(batch.Enqueues, q)
			}
			for _, run := range runs {
				if random.IntN(2) == 0 {
					c := &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{Percent: 1}}
					batch.Checkpoints = append(batch.Checkpoints, c)
				}
				state := []store.State{store.Completed, store.Retryable, store.Scheduled, store.Available, store.Failed}[random.IntN(5)]
				batch.Outcomes = append(batch.Outcomes, outcome(run, state))
			}
			if err := s.Apply(e.ctx, batch); err != nil {
				return fmt.Errorf("Apply: %w", err)
			}
			for _, q := range batch.Enqueues {
				if q.Err == nil && q.Result.ID == q.Job.ID {
					made.add(q.Job.ID)
				}
				if q.Err == nil {
					mine = append(mine, q.Result.ID)
				}
			}
			runs, err = s.Claim(e.ctx, e.demand(node, 5))
			switch {
			case errors.Is(err, store.ErrNodeDead):
				node, err = s.Join(e.ctx, store.NodeInfo{Name: fmt.Sprint("n", i)})
			case err == nil && round%7 == 6:
				// It forgets what it claimed, as a crashed one does, and comes back as another.
				runs = nil
				node, err = s.Join(e.ctx, store.NodeInfo{Name: fmt.Sprint("n", i)})
			}
			if err != nil {
				return fmt.Errorf("Claim or Join: %w", err)
			}
			switch random.IntN(7) {
			case 0:
				_, err = s.Cancel(e.ctx, store.CancelParams{Jobs: some(), Reason: "r", Actor: "a"})
			case 1:
				_, err = s.Retry(e.ctx, store.RetryParams{Jobs: some(), Actor: "a"})
			case 2:
				var silent []store.NodeBeat
				if silent, err = silentNodes(e.ctx, s, e.clock.Now()); err == nil {
					_, err = s.Rescue(e.ctx, store.RescueParams{Dead: silent, Limit: 100})
				}
			case 3:
				_, err = s.SweepCancels(e.ctx)
			case 4:
				name, paused := fmt.Sprint("q", random.IntN(3)), random.IntN(3) == 0
				err = s.Pause(e.ctx, store.PauseParams{Namespace: namespace, Queue: name, Paused: paused, Actor: "a"})
			case 5:
				err = s.Leave(e.ctx, node)
			case 6:
				_, err = s.Beat(e.ctx, store.BeatParams{Node: node, LeaderTTL: leaderTTL})
				if errors.Is(err, store.ErrNodeDead) {
					err = nil
				}
			}
			if err != nil {
				return fmt.Errorf("operation: %w", err)
			}
			if _, err := s.Promote(e.ctx, 10); err != nil {
				return fmt.Errorf("Promote: %w", err)
			}
			if clock.Add(1)%3 == 0 {
				e.clock.Advance(time.Second)
			}
		}
		return nil
	})
	// Everything is there, once; and once people stop interfering everything comes to its end.
	var ids []store.ID
	for id := range made.seen {
		ids = append(ids, id)
	}
	e.wantSameIDs("listed", e.listIDs(store.Filter{}), ids...)
	for i := range 3 {
		e.pause(fmt.Sprint("q", i), false)
	}
	e.clock.Advance(time.Hour)
	e.rescue()
	e.sweep()
	node := e.join()
	for range patience {
		e.clock.Advance(time.Minute)
		e.beat(node)
		runs := e.claim(node, 100)
		batch := &store.Batch{}
		for _, run := range runs {
			batch.Outcomes = append(batch.Outcomes, outcome(run, store.Completed))
		}
		e.apply(batch)
		if len(runs) == 0 {
			break
		}
	}
	unfinished := []store.State{store.Scheduled, store.Available, store.Running, store.Retryable, store.Waiting}
	if left := e.list(store.Filter{States: unfinished}, 100); len(left) != 0 {
		e.Fatalf("NoLoss: %d of %d jobs never come to an end, such as %+v", len(left), len(ids), left[0])
	}
}
