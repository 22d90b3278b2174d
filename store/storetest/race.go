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
// holds whoever wins. race_nodes.go lets nodes end in the middle, race_giveup.go lets them give up
// runs, race_start.go lets jobs start as they are enqueued, race_mixed.go lets different operations
// compete, race_durable.go and race_children.go are about jobs that remember and wait.
var raceTests = slices.Concat([]test{
	{"OneOwner_NoLoss_many_producers_and_claimers", raceClaims},
	{"UniqueIsUnique_of_many_producers_one_wins", raceUnique},
	{"UniqueIsUnique_of_many_retries_one_wins", raceRetryUnique},
	{"NoLoss_the_same_enqueue_from_many_is_one_job", raceSameID},
	{"NoLoss_readers_see_every_job_while_it_moves", raceReaders},
	{"OneOwner_a_claim_and_its_repetition_at_once", raceRepeatedClaim},
	{"OneOwner_of_many_outcomes_one_is_applied", raceOutcomes},
	{"OneOwner_an_outcome_and_its_repetitions_at_once", raceRepeatedOutcome},
	{"AtomicTransitions_a_context_that_ends_in_the_middle_leaves_all_or_nothing", raceContext},
	{"AtomicTransitions_whoever_gives_up_leaves_every_job_in_one_place", raceContextElsewhere},
	{"NoLoss_queues_are_used_while_they_are_removed", raceQueues},
}, raceNodesTests, raceGiveUpTests, raceRequestsTests, raceStartTests, raceMixedTests, raceDurableTests, raceChildrenTests)

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
	if err := applyWhole(ctx, e.store, batch); err != nil {
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
// may overtake it. Reading: a store may then refuse the first request, which nobody listens to any more, or let it take
// nothing, or say for a moment that it is unavailable; but it may not hand out two batches under one number, for the jobs of one of them
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
		if len(answers[1]) != 3 {
			e.Fatalf("a repeated claim of 3 jobs has brought %d", len(answers[1]))
		}
		for i, runs := range answers {
			if i > 0 || len(runs) > 0 {
				e.equal("answer", runs, answers[1])
			}
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

// raceRepeatedOutcome: an answer was lost, or was only late, and the outcome is sent again by several at once. Whoever is first applies it,
// and all are told so.
func raceRepeatedOutcome(e *env) {
	states := []store.State{store.Completed, store.Retryable, store.Failed, store.Scheduled, store.Available, store.Waiting}
	for round := range 5 {
		var jobs []*store.Enqueue
		for i := range 4 * len(states) {
			jobs = append(jobs, e.job(attempts(9), func(q *store.Enqueue) {
				if i%3 == 0 {
					q.Job.UniqueKey, q.Job.UniqueStates = []byte(fmt.Sprint(round, i)), store.Unfinished
				}
				if i%4 == 0 {
					q.Job.OrderingKey = fmt.Sprint(round, i)
				}
			}))
		}
		e.enqueue(jobs...)
		runs := e.claim(e.join(), len(jobs))
		if len(runs) != len(jobs) {
			e.Fatalf("claimed %d jobs, want %d", len(runs), len(jobs))
		}
		const senders = 4
		sent := make([][]*store.Outcome, senders)
		for i, run := range runs {
			first := outcome(run, states[i%len(states)], func(o *store.Outcome) {
				o.Durable = o.State == store.Waiting
				o.Delay *= 1000 // it does not come back in the middle
			})
			for n := range senders {
				o := *first
				o.Repeat = n > 0 || round%2 == 0
				sent[n] = append(sent[n], &o)
			}
		}
		e.together(senders, func(n int) error {
			for part := range slices.Chunk(sent[n], 1+(n+round)%len(runs)) {
				if err := e.tryNow(e.ctx, &store.Batch{Outcomes: part}); err != nil {
					return err
				}
			}
			return nil
		})
		for i, run := range runs {
			state := states[i%len(states)]
			for n := range senders {
				o := sent[n][i]
				late := !o.Repeat && errors.Is(o.Err, store.ErrLeaseLost) // a repetition was first
				if !late && (o.Err != nil || o.Final != state) {
					e.Fatalf("outcome %v, sent %d times, was answered with %v, %v", state, senders, o.Final, o.Err)
				}
			}
			record := e.get(run.Job.ID)
			want := 1
			if state == store.Completed || state == store.Waiting {
				want = 0
			}
			if record.State != state || len(record.Attempts) != want {
				e.Fatalf("job is %v, want %v, with %d attempts", record.State, state, len(record.Attempts))
			}
		}
		e.terminate(idsOf(jobs)...)
	}
}

// raceReaders: a job moves from one table to the next while somebody looks. It is never in none of them, and never in
// two.
func raceReaders(e *env) {
	const n = 12
	var ids []store.ID
	for i := range n {
		ids = append(ids, e.add(attempts(1000), queue(fmt.Sprint("q", i%2)), func(q *store.Enqueue) {
			if i%4 == 0 {
				q.Job.OrderingKey = fmt.Sprint("key", i)
			}
		}))
	}
	node := e.join()
	var moving atomic.Bool
	moving.Store(true)
	e.together(4, func(i int) error {
		if i == 0 {
			defer moving.Store(false)
			for round := range 40 {
				if _, err := e.store.Promote(e.ctx, 100); err != nil {
					return fmt.Errorf("Promote: %w", err)
				}
				runs, err := e.store.Claim(e.ctx, e.demand(node, n))
				if err != nil {
					return fmt.Errorf("Claim: %w", err)
				}
				batch := &store.Batch{}
				for j, run := range runs {
					state := []store.State{store.Retryable, store.Scheduled, store.Available, store.Failed, store.Cancelled}[(round+j)%5]
					batch.Outcomes = append(batch.Outcomes, outcome(run, state, func(o *store.Outcome) { o.Delay = time.Millisecond }))
				}
				if err := e.tryNow(e.ctx, batch); err != nil {
					return err
				}
				if _, err := e.store.Retry(e.ctx, store.RetryParams{Jobs: ids[:n/2], Actor: "ada"}); err != nil {
					return fmt.Errorf("Retry: %w", err)
				}
				e.clock.Advance(time.Millisecond)
			}
			return nil
		}
		for looks := 0; moving.Load() || looks < 3; looks++ {
			if err := e.look(i, ids); err != nil {
				return err
			}
		}
		return nil
	})
}

// look reads in one of three ways, and returns an error if a job is not there or says what cannot be.
func (e *env) look(way int, ids []store.ID) error {
	plausible := func(r store.Record) error {
		switch {
		case !slices.Contains(store.States, r.State),
			(r.State == store.Running) != (r.Lease.Job == r.ID && r.Lease.Slot >= 0 && r.Lease.Claim > 0),
			r.State.Finished() == r.FinishedAt.IsZero(),
			r.State == store.Running && r.Attempt == 0:
			return fmt.Errorf("a record that cannot be: %+v", r)
		}
		return nil
	}
	switch way {
	case 1:
		for _, id := range ids {
			r, err := e.store.Get(e.ctx, id)
			if err != nil {
				return fmt.Errorf("Get: %w", err)
			}
			if err := plausible(r); err != nil {
				return err
			}
		}
	case 2:
		page, err := e.store.List(e.ctx, store.ListParams{Filter: store.Filter{Namespace: namespace}, Limit: 100})
		if err != nil {
			return fmt.Errorf("List: %w", err)
		}
		if len(page.Jobs) != len(ids) {
			return fmt.Errorf("NoLoss: %d of %d jobs are listed", len(page.Jobs), len(ids))
		}
		for i, r := range page.Jobs {
			if r.ID != ids[len(ids)-1-i] {
				return fmt.Errorf("place %d of the list has %v", i, r.ID)
			}
			if err := plausible(r); err != nil {
				return err
			}
		}
	default:
		ended, err := e.store.Ended(e.ctx, ids)
		if err != nil {
			return fmt.Errorf("Ended: %w", err)
		}
		for _, end := range ended {
			if !end.State.Finished() {
				return fmt.Errorf("NoLoss: an ended job is %v", end.State)
			}
		}
		queues, err := e.store.Queues(e.ctx, namespace)
		if err != nil || len(queues) != 2 {
			return fmt.Errorf("Queues: %d, %w", len(queues), err)
		}
		for _, q := range queues {
			total := 0
			for _, c := range q.Counts {
				total += c.N
			}
			if total > len(ids)/2 {
				return fmt.Errorf("the queue %s counts %v, but has %d jobs", q.Name, q.Counts, len(ids)/2)
			}
		}
	}
	return nil
}

// raceContext: a caller gives up at any moment. Nobody knows then whether the batch was committed; but it was as a whole or not
// at all, and sending it again by the rules brings it to its end.
func raceContext(e *env) {
	node := e.join()
	for round := range 20 {
		e.enqueue(e.job(), e.job())
		runs := e.claim(node, 2)
		send := func() *store.Batch {
			return &store.Batch{Outcomes: []*store.Outcome{outcome(runs[0], store.Completed), outcome(runs[1], store.Failed)}}
		}
		batch := send()
		for range 10 {
			batch.Enqueues = append(batch.Enqueues, e.job(kind("later")))
		}
		ctx, cancel := context.WithCancel(e.ctx)
		var err error
		e.together(2, func(i int) error {
			if i == 0 {
				for range round * 20 {
					runtime.Gosched()
				}
				cancel()
				return nil
			}
			err = e.store.Apply(ctx, batch)
			return nil
		})
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, store.ErrUnavailable) {
			e.Fatalf("Apply: %v", err)
		}
		happened := e.get(runs[0].Job.ID).State == store.Completed
		if err == nil && !happened {
			e.Fatal("NoLoss: Apply returned, and its outcome is not there")
		}
		if failed := e.get(runs[1].Job.ID).State == store.Failed; failed != happened {
			e.Fatalf("the first outcome happened: %v, the second: %v", happened, failed)
		}
		for _, q := range batch.Enqueues {
			if _, err := e.store.Get(e.ctx, q.Job.ID); (err == nil) != happened {
				e.Fatalf("the outcomes happened: %v, the enqueue of %v: %v", happened, q.Job.ID, err)
			}
		}
		again := send()
		for _, o := range again.Outcomes {
			o.Repeat = true
		}
		again.Enqueues = batch.Enqueues
		e.apply(again)
		for _, o := range again.Outcomes {
			if o.Err != nil || o.Final != o.State {
				e.Fatalf("repeated outcome: %v, %v", o.Final, o.Err)
			}
		}
		for _, q := range again.Enqueues {
			if q.Err != nil || q.Result.Existing != happened {
				e.Fatalf("repeated enqueue: %+v, %v", q.Result, q.Err)
			}
		}
	}
}
