package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Real goroutines that compete for the same jobs. Nothing sleeps; who wins is up to the machine, and what is checked
// holds whoever wins.
var raceTests = []test{
	{"OneOwner_NoLoss_many_producers_and_claimers", raceClaims},
	{"UniqueIsUnique_of_many_producers_one_wins", raceUnique},
	{"UniqueIsUnique_of_many_retries_one_wins", raceRetryUnique},
	{"NoLoss_the_same_enqueue_from_many_is_one_job", raceSameID},
	{"OneOwner_a_claim_and_its_repetition_at_once", raceRepeatedClaim},
	{"OneOwner_of_many_outcomes_one_is_applied", raceOutcomes},
	{"CancelArrives_while_jobs_are_claimed", raceCancelClaim},
	{"CancelArrives_while_jobs_end", raceCancelEnd},
	{"OneOwner_two_leaders_rescue_each_job_once", raceRescue},
	{"OneOwner_a_dying_node_writes_or_is_rescued_never_both", raceRescueEnd},
	{"NoLoss_a_node_leaves_while_it_claims", raceLeave},
	{"EveryDueThingHappens_once_if_many_promote", racePromote},
	{"Order_of_a_key_holds_among_many_claimers", raceOrderingKeys},
	{"OneOwner_many_nodes_join_and_stand", raceJoin},
}

// together runs f n times at once and fails the test on the first error.
func (e *env) together(n int, f func(i int) error) {
	e.Helper()
	start := make(chan struct{})
	errs := make([]error, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		e.Fatal(err)
	}
}

// patience is how often somebody looks in vain before the test says that nothing will come any more.
const patience = 20_000

// tryNow applies a batch in a goroutine of a test, which may not fail the test itself.
func (e *env) tryNow(ctx context.Context, batch *store.Batch) error {
	if err := e.store.Apply(ctx, batch); err != nil {
		return fmt.Errorf("Apply: %w", err)
	}
	return nil
}

// tally counts, from many goroutines, how often each job was seen.
type tally struct {
	mu   sync.Mutex
	seen map[store.ID]int
}

func (t *tally) add(ids ...store.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen == nil {
		t.seen = map[store.ID]int{}
	}
	for _, id := range ids {
		t.seen[id]++
	}
}

// wantOnce checks that each of the jobs was seen once, and nothing else.
func (e *env) wantOnce(what string, t *tally, ids []store.ID) {
	e.Helper()
	for _, id := range ids {
		if t.seen[id] != 1 {
			e.Errorf("job %v was %s %d times", id, what, t.seen[id])
		}
	}
	if len(t.seen) != len(ids) {
		e.Errorf("%d jobs were %s, want %d", len(t.seen), what, len(ids))
	}
	if e.Failed() {
		e.FailNow()
	}
}

func raceClaims(e *env) {
	const producers, claimers, batches, size = 4, 4, 8, 12
	nodes := make([]int64, claimers)
	for i := range nodes {
		nodes[i] = e.join()
	}
	var made, claimed, ended tally
	var producing atomic.Int64
	producing.Store(producers)
	e.together(producers+claimers, func(i int) error {
		if i < producers {
			defer producing.Add(-1)
			for range batches {
				batch := &store.Batch{}
				for j := range size {
					// All of them need the same queues at the same time, none of which is there yet.
					batch.Enqueues = append(batch.Enqueues, e.job(queue(fmt.Sprintf("q%d", j%5)), priority(1+j%4), kind([]string{"send", "push"}[j%2])))
				}
				if err := e.tryNow(e.ctx, batch); err != nil {
					return err
				}
				made.add(idsOf(batch.Enqueues)...)
			}
			return nil
		}
		for {
			last := producing.Load() == 0
			runs, err := e.store.Claim(e.ctx, e.demand(nodes[i-producers], 7))
			if err != nil {
				return fmt.Errorf("Claim: %w", err)
			}
			claimed.add(claimedIDs(runs)...)
			batch := &store.Batch{}
			for _, run := range runs {
				batch.Outcomes = append(batch.Outcomes, outcome(run, store.Completed))
			}
			if err := e.tryNow(e.ctx, batch); err != nil {
				return err
			}
			for _, o := range batch.Outcomes {
				if o.Err != nil {
					return fmt.Errorf("outcome: %w", o.Err)
				}
				ended.add(o.Lease.Job)
			}
			if last && len(runs) == 0 {
				return nil
			}
		}
	})
	// A claimer may find nothing because another one is just looking at it; what is left is there afterwards.
	node := e.join()
	for {
		runs := e.claim(node, 100)
		if len(runs) == 0 {
			break
		}
		claimed.add(claimedIDs(runs)...)
		for _, run := range runs {
			e.end(run, store.Completed)
		}
	}
	var ids []store.ID
	for id := range made.seen {
		ids = append(ids, id)
	}
	if len(ids) != producers*batches*size {
		e.Fatalf("made %d jobs", len(ids))
	}
	e.wantOnce("claimed", &claimed, ids)
	if done := e.listIDs(store.Filter{States: []store.State{store.Completed}}); len(done) != len(ids) {
		e.Fatalf("%d jobs are completed, want %d", len(done), len(ids))
	}
}

// raceUnique: the producers name their keys in different orders, which is how deadlocks are made.
func raceUnique(e *env) {
	const producers, keys = 16, 5
	batches := make([]*store.Batch, producers)
	for i := range batches {
		batches[i] = &store.Batch{}
		for k := range keys {
			batches[i].Enqueues = append(batches[i].Enqueues,
				e.job(unique(fmt.Sprint("key", k)), onConflict([]store.OnConflict{store.ReturnExisting, store.Reject, store.Replace}[(i+k)%3])))
		}
		random := rand.New(rand.NewPCG(uint64(i), 1))
		random.Shuffle(keys, func(a, b int) {
			q := batches[i].Enqueues
			q[a], q[b] = q[b], q[a]
		})
	}
	e.together(producers, func(i int) error { return e.tryNow(e.ctx, batches[i]) })
	holders := map[string]store.ID{}
	for _, batch := range batches {
		for _, q := range batch.Enqueues {
			if q.Err == nil && !q.Result.Existing {
				key := string(q.Job.UniqueKey)
				if other, taken := holders[key]; taken {
					e.Fatalf("jobs %v and %v were both inserted with the key %s", other, q.Job.ID, key)
				}
				holders[key] = q.Job.ID
			}
		}
	}
	for _, batch := range batches {
		for _, q := range batch.Enqueues {
			holder, taken := holders[string(q.Job.UniqueKey)]
			var conflict *store.UniqueError
			switch {
			case !taken:
				e.Fatalf("nobody got the key %s", q.Job.UniqueKey)
			case q.Err == nil && q.Result.ID != holder:
				e.Fatalf("enqueue returned the job %v, the key is held by %v", q.Result.ID, holder)
			case q.Err != nil && (!errors.As(q.Err, &conflict) || conflict.Holder != holder):
				e.Fatalf("enqueue: %v, the key is held by %v", q.Err, holder)
			}
		}
	}
	if n := len(e.listIDs(store.Filter{})); n != keys {
		e.Fatalf("there are %d jobs, want %d", n, keys)
	}
	if n := len(e.claim(e.join(), 100)); n != keys {
		e.Fatalf("claimed %d jobs, want %d", n, keys)
	}
}

func raceRetryUnique(e *env) {
	const n = 8
	var ids []store.ID
	node := e.join()
	for range n {
		id := e.add(unique("k"))
		ids = append(ids, id)
		e.end(e.claimOne(node, id), store.Failed)
	}
	var won, lost tally
	e.together(n, func(i int) error {
		results, err := e.store.Retry(e.ctx, store.RetryParams{Jobs: []store.ID{ids[i]}, Actor: "ada"})
		if err != nil || len(results) != 1 {
			return fmt.Errorf("Retry: %d results, %w", len(results), err)
		}
		if errors.Is(results[0].Err, store.ErrConflict) {
			lost.add(ids[i])
			return nil
		}
		won.add(ids[i])
		return results[0].Err
	})
	if len(won.seen) != 1 || len(lost.seen) != n-1 {
		e.Fatalf("%d retries won, %d lost", len(won.seen), len(lost.seen))
	}
	if runs := e.claim(node, n); len(runs) != 1 || won.seen[runs[0].Job.ID] != 1 {
		e.Fatalf("claimed %v", claimedIDs(runs))
	}
}

func raceSameID(e *env) {
	const producers, jobs = 8, 6
	var originals []*store.Enqueue
	for i := range jobs {
		originals = append(originals, e.job(unique(fmt.Sprint("key", i)), onConflict(store.Reject)))
	}
	var inserted tally
	e.together(producers, func(i int) error {
		batch := &store.Batch{}
		for j := range jobs {
			q := *originals[(i+j)%jobs]
			batch.Enqueues = append(batch.Enqueues, &q)
		}
		if err := e.tryNow(e.ctx, batch); err != nil {
			return err
		}
		for _, q := range batch.Enqueues {
			if q.Err != nil || q.Result.ID != q.Job.ID {
				return fmt.Errorf("enqueue of %v: %+v, %w", q.Job.ID, q.Result, q.Err)
			}
			if !q.Result.Existing {
				inserted.add(q.Job.ID)
			}
		}
		return nil
	})
	e.wantOnce("inserted", &inserted, idsOf(originals))
	e.wantIDs("claimed", claimedIDs(e.claim(e.join(), 100)), idsOf(originals)...)
}

// raceRepeatedClaim: a claim whose answer does not come is asked again while the first request is still under way, and
// may overtake it. Reading: a store may then refuse the first request, which nobody listens to any more, or say for a
// moment that it is unavailable; but it may not hand out two batches under one number, for the jobs of one of them
// would be known to nobody while their node lives.
func raceRepeatedClaim(e *env) {
	for range 10 {
		for range 6 {
			e.add()
		}
		node := e.join()
		params := e.demand(node, 3)
		answers := make([][]store.Claimed, 4)
		e.together(len(answers), func(i int) error {
			params := params
			params.Repeat = i > 0
			for {
				runs, err := e.store.Claim(e.ctx, params)
				if err == nil {
					answers[i] = runs
					return nil
				}
				if params.Repeat && !store.IsRetryable(err) {
					return fmt.Errorf("Claim: %w", err)
				}
				params.Repeat = true
			}
		})
		for _, runs := range answers[1:] {
			e.equal("answer", runs, answers[0])
		}
		if n := len(e.listIDs(store.Filter{States: []store.State{store.Running}})); n != 3 {
			e.Fatalf("%d jobs run, want 3", n)
		}
		e.leave(node)
		for _, id := range e.listIDs(store.Filter{States: []store.State{store.Available}}) {
			e.cancel(id)
		}
	}
}

// raceOutcomes: the handler returns while its node's lease keeper gives the job back, and a copy of each is under way
// because its answer was late. One of the two is applied; its copy is told so.
func raceOutcomes(e *env) {
	const n = 20
	for range n {
		e.add()
	}
	runs := e.claim(e.join(), n)
	states := []store.State{store.Completed, store.Retryable, store.Completed, store.Retryable}
	outcomes := make([][]*store.Outcome, len(states))
	for i, state := range states {
		for _, run := range runs {
			outcomes[i] = append(outcomes[i], outcome(run, state, func(o *store.Outcome) { o.Error = state.String() }))
		}
		random := rand.New(rand.NewPCG(uint64(i), 2))
		random.Shuffle(n, func(a, b int) { outcomes[i][a], outcomes[i][b] = outcomes[i][b], outcomes[i][a] })
	}
	e.together(len(states), func(i int) error {
		for half := range slices.Chunk(outcomes[i], n/4) {
			if err := e.tryNow(e.ctx, &store.Batch{Outcomes: half}); err != nil {
				return err
			}
		}
		return nil
	})
	accepted := map[store.ID]store.State{}
	for _, list := range outcomes {
		for _, o := range list {
			if o.Err == nil {
				if _, twice := accepted[o.Lease.Job]; twice {
					e.Fatalf("two outcomes of job %v were accepted", o.Lease.Job)
				}
				accepted[o.Lease.Job] = o.Final
			} else if !errors.Is(o.Err, store.ErrLeaseLost) {
				e.Fatalf("outcome: %v", o.Err)
			}
		}
	}
	for _, run := range runs {
		record := e.get(run.Job.ID)
		if want, ok := accepted[run.Job.ID]; !ok || record.State != want {
			e.Fatalf("job is %v, accepted was %v", record.State, want)
		}
		if (record.State == store.Retryable) != (len(record.Attempts) == 1) {
			e.Fatalf("%v job has the attempts %+v", record.State, record.Attempts)
		}
	}
}

// raceCancelClaim: a job is cancelled before it runs, or it runs and its node is told.
func raceCancelClaim(e *env) {
	const n = 40
	var ids []store.ID
	for range n {
		ids = append(ids, e.add())
	}
	node := e.join()
	answers := map[store.ID]store.State{}
	var claimed tally
	e.together(2, func(i int) error {
		for at := 0; at < n; at += 5 {
			if i == 0 {
				runs, err := e.store.Claim(e.ctx, e.demand(node, 5))
				if err != nil {
					return fmt.Errorf("Claim: %w", err)
				}
				claimed.add(claimedIDs(runs)...)
				continue
			}
			results, err := e.store.Cancel(e.ctx, store.CancelParams{Jobs: ids[at : at+5], Reason: "r", Actor: "a"})
			if err != nil {
				return fmt.Errorf("Cancel: %w", err)
			}
			for _, r := range results {
				answers[r.Job] = r.State
			}
		}
		return nil
	})
	e.sweep()
	told := map[store.ID]bool{}
	for _, c := range e.beat(node).Cancels {
		told[c.Job] = true
	}
	for _, id := range ids {
		state := e.get(id).State
		switch {
		case claimed.seen[id] > 1:
			e.Fatalf("job %v was claimed %d times", id, claimed.seen[id])
		case answers[id] == store.Cancelled && (claimed.seen[id] != 0 || state != store.Cancelled || told[id]):
			e.Fatalf("job %v was cancelled, and claimed %d times; it is %v", id, claimed.seen[id], state)
		case answers[id] == store.Running && (claimed.seen[id] != 1 || state != store.Running || !told[id]):
			e.Fatalf("job %v was asked to stop, claimed %d times, told %v; it is %v", id, claimed.seen[id], told[id], state)
		case answers[id] != store.Cancelled && answers[id] != store.Running:
			e.Fatalf("cancel of job %v answered %v", id, answers[id])
		}
	}
}

// raceCancelEnd: whatever a cancel was answered comes true, at the latest with the sweep, and an outcome that was
// accepted stays.
func raceCancelEnd(e *env) {
	const n = 40
	for range n {
		e.add()
	}
	node := e.join()
	runs := e.claim(node, n)
	answers := map[store.ID]store.State{}
	finals := map[store.ID]store.State{}
	e.together(2, func(i int) error {
		for part := range slices.Chunk(runs, 4) {
			if i == 0 {
				results, err := e.store.Cancel(e.ctx, store.CancelParams{Jobs: claimedIDs(part), Reason: "r", Actor: "a"})
				if err != nil {
					return fmt.Errorf("Cancel: %w", err)
				}
				for _, r := range results {
					answers[r.Job] = r.State
				}
				continue
			}
			batch := &store.Batch{}
			for j, run := range part {
				batch.Outcomes = append(batch.Outcomes, outcome(run, []store.State{store.Completed, store.Retryable}[j%2]))
			}
			if err := e.tryNow(e.ctx, batch); err != nil {
				return err
			}
			for _, o := range batch.Outcomes {
				if o.Err != nil {
					return fmt.Errorf("outcome: %w", o.Err)
				}
				finals[o.Lease.Job] = o.Final
			}
		}
		return nil
	})
	e.sweep()
	for i, run := range runs {
		id := run.Job.ID
		record := e.get(id)
		want := []store.State{store.Completed, store.Cancelled}[i%2]
		answer := answers[id]
		fits := answer == store.Running || answer == want
		if record.State != want || !fits || record.CancelRequested {
			e.Fatalf("job %v was to be %v and is %v; the cancel answered %v, the outcome %v", id, want, record.State, answer, finals[id])
		}
		if i%2 == 0 && finals[id] != store.Completed {
			e.Fatalf("an outcome became %v", finals[id])
		}
	}
	if n := e.sweep(); n != 0 {
		e.Fatalf("a second sweep applied %d requests", n)
	}
}

func raceRescue(e *env) {
	const n = 150
	var jobs []*store.Enqueue
	for range n {
		jobs = append(jobs, e.job())
	}
	e.enqueue(jobs...)
	for range 3 {
		e.claimWith(e.demand(e.join(), n/3))
	}
	e.clock.Advance(deadAfter + time.Second)
	var rescued tally
	e.together(4, func(i int) error {
		params := rescueParams()
		params.Limit = 1 + i
		for quiet := 0; quiet < 3; quiet++ {
			some, err := e.store.Rescue(e.ctx, params)
			if err != nil {
				return fmt.Errorf("Rescue: %w", err)
			}
			for _, r := range some {
				rescued.add(r.Job)
				quiet = 0
			}
		}
		return nil
	})
	// One leader may pass over what another has in hand.
	for _, r := range e.rescue() {
		rescued.add(r.Job)
	}
	e.wantOnce("rescued", &rescued, idsOf(jobs))
	for _, id := range idsOf(jobs) {
		if record := e.get(id); record.State != store.Retryable || record.Attempt != 1 || len(record.Attempts) != 1 {
			e.Fatalf("record: %+v", record)
		}
	}
}

// raceRescueEnd: the node is slow, not dead, and ends its runs while it is declared dead.
func raceRescueEnd(e *env) {
	const n = 60
	var ids []store.ID
	for range n {
		ids = append(ids, e.add())
	}
	runs := e.claim(e.join(), n)
	e.clock.Advance(deadAfter + time.Second)
	var moved tally
	var completed tally
	e.together(2, func(i int) error {
		if i == 0 {
			some, err := e.store.Rescue(e.ctx, rescueParams())
			if err != nil {
				return fmt.Errorf("Rescue: %w", err)
			}
			for _, r := range some {
				moved.add(r.Job)
			}
			return nil
		}
		for part := range slices.Chunk(runs, 5) {
			batch := &store.Batch{}
			for _, run := range part {
				batch.Outcomes = append(batch.Outcomes, outcome(run, store.Completed))
			}
			if err := e.tryNow(e.ctx, batch); err != nil {
				return err
			}
			for _, o := range batch.Outcomes {
				if o.Err == nil {
					moved.add(o.Lease.Job)
					completed.add(o.Lease.Job)
				} else if !errors.Is(o.Err, store.ErrLeaseLost) {
					return fmt.Errorf("outcome: %w", o.Err)
				}
			}
		}
		return nil
	})
	for _, r := range e.rescue() {
		moved.add(r.Job)
	}
	e.wantOnce("completed or rescued", &moved, ids)
	for _, id := range ids {
		want := store.Retryable
		if completed.seen[id] == 1 {
			want = store.Completed
		}
		e.wantState(id, want)
	}
}

func raceLeave(e *env) {
	const n = 60
	var ids []store.ID
	for range n {
		ids = append(ids, e.add())
	}
	for range 5 {
		node := e.join()
		e.together(3, func(i int) error {
			if i == 2 {
				return e.store.Leave(e.ctx, node)
			}
			for range 4 {
				_, err := e.store.Claim(e.ctx, e.demand(node, 3))
				if errors.Is(err, store.ErrNodeDead) {
					return nil
				}
				if err != nil {
					return fmt.Errorf("Claim: %w", err)
				}
			}
			return nil
		})
		if running := e.listIDs(store.Filter{States: []store.State{store.Running}}); len(running) != 0 {
			e.Fatalf("%d jobs run on a node that left", len(running))
		}
	}
	e.wantSameIDs("claimed", claimedIDs(e.claim(e.join(), 2*n)), ids...)
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

// raceOrderingKeys: several nodes promote, claim and finish; at no moment do two jobs of a key run, and those of a key
// run in the order in which they were enqueued.
func raceOrderingKeys(e *env) {
	const keys, each, workers = 4, 15, 4
	order := map[store.ID]int{}
	for i := range each {
		var batch []*store.Enqueue
		for k := range keys {
			q := e.job(ordered(fmt.Sprint("key", k)), queue(fmt.Sprint("q", k%2)))
			order[q.Job.ID] = i
			batch = append(batch, q)
		}
		e.enqueue(batch...)
	}
	nodes := make([]int64, workers)
	for i := range nodes {
		nodes[i] = e.join()
	}
	var left atomic.Int64
	left.Store(keys * each)
	running, next := map[string]*atomic.Int64{}, map[string]*atomic.Int64{}
	for k := range keys {
		running[fmt.Sprint("key", k)], next[fmt.Sprint("key", k)] = new(atomic.Int64), new(atomic.Int64)
	}
	e.together(workers, func(i int) error {
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
				key := run.Job.OrderingKey
				if running[key].Add(1) != 1 {
					return fmt.Errorf("two jobs of %s run", key)
				}
				if want := next[key].Add(1) - 1; int(want) != order[run.Job.ID] {
					return fmt.Errorf("job %d of %s runs as number %d", order[run.Job.ID], key, want)
				}
				batch.Outcomes = append(batch.Outcomes, outcome(run, store.Completed))
				running[key].Add(-1)
			}
			runtime.Gosched()
			if err := e.tryNow(e.ctx, batch); err != nil {
				return err
			}
			for _, o := range batch.Outcomes {
				if o.Err != nil {
					return fmt.Errorf("outcome: %w", o.Err)
				}
				left.Add(-1)
			}
		}
		return nil
	})
}

func raceJoin(e *env) {
	const n = 8
	ids, led := make([]int64, n), make([]int, n)
	e.together(n, func(i int) (err error) {
		if ids[i], err = e.store.Join(e.ctx, store.NodeInfo{Name: fmt.Sprint("n", i)}); err != nil {
			return fmt.Errorf("Join: %w", err)
		}
		for range 5 {
			beat, err := e.store.Beat(e.ctx, store.BeatParams{Node: ids[i], LeaderTTL: leaderTTL})
			if err != nil {
				return fmt.Errorf("Beat: %w", err)
			}
			if beat.Leader {
				led[i]++
			}
		}
		return nil
	})
	slices.Sort(ids)
	if len(slices.Compact(ids)) != n {
		e.Fatalf("node ids: %v", ids)
	}
	// The first that stood leads, from its first beat to its last; the others never did.
	slices.Sort(led)
	if led[n-1] != 5 || led[n-2] != 0 {
		e.Fatalf("the nodes led for %v beats", led)
	}
}
