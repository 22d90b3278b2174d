package race

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/crowd"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Races between children, and between them and their parents.
var raceChildrenTests = env.Tests{
	"NoLoss_children_that_finish_together_all_answer":   raceAnswers,
	"NoLoss_children_finish_while_their_parent_parks":   raceParentParks,
	"NoLoss_children_are_closed_once_while_they_finish": raceClose,
	"NoLoss_parents_and_children_finish_together":       raceFamily,
}

// family makes parents with children that are all running, and returns the runs of both.
func family(e *env.Env, parents, each int, change ...func(*store.Enqueue)) (elders []store.Claimed, children []store.Claimed) {
	e.Helper()
	node := e.Join()
	e.Many(parents)
	elders = e.Claim(node, parents)
	for i := range elders {
		e.Bear(&elders[i], each, change...)
	}
	children = e.Claim(node, parents*each)
	if len(elders) != parents || len(children) != parents*each {
		e.Fatalf("claimed %d parents and %d children", len(elders), len(children))
	}
	return elders, children
}

// raceAnswers: the children of all parents are mixed, and finish in batches of several callers.
// Each parent is woken by the last of its own.
func raceAnswers(e *env.Env) {
	const parents, each, workers = 4, 24, 4
	elders, children := family(e, parents, each)
	for _, parent := range elders {
		e.Park(parent, &store.Wait{Count: each})
	}
	random := rand.New(rand.NewPCG(1, 15))
	random.Shuffle(len(children), func(a, b int) { children[a], children[b] = children[b], children[a] })
	var woken atomic.Int64
	crowd.Together(e, workers, func(i int) error {
		random := rand.New(rand.NewPCG(uint64(i), 16))
		mine := children[i*len(children)/workers : (i+1)*len(children)/workers]
		for len(mine) > 0 {
			n := min(len(mine), 1+random.IntN(7))
			if n == 1 && random.IntN(2) == 0 {
				if err := crowd.TerminateNow(e, mine[0].Job.ID); err != nil {
					return err
				}
			} else {
				batch := &store.Batch{}
				for _, run := range mine[:n] {
					state := []store.State{store.Completed, store.Completed, store.Failed}[random.IntN(3)]
					batch.Outcomes = append(batch.Outcomes, env.Outcome(run, state))
				}
				if err := crowd.EndNow(e, batch); err != nil {
					return err
				}
				woken.Add(int64(len(batch.Woken)))
			}
			mine = mine[n:]
		}
		return nil
	})
	if n := woken.Load(); n > parents {
		e.Fatalf("the batches tell of %d wake-ups, want at most %d", n, parents)
	}
	node := e.Join()
	e.WantSameIDs("woken", env.ClaimedIDs(e.ClaimWith(e.Demand(node, 100))), env.ClaimedIDs(elders)...)
	for _, parent := range elders {
		from := map[store.ID]bool{}
		for _, m := range e.Answers(parent.Job.ID) {
			from[m.From] = true
		}
		if len(from) != each || len(e.Answers(parent.Job.ID)) != each {
			e.Fatalf("a parent has %d answers of %d children, want %d", len(e.Answers(parent.Job.ID)), len(from), each)
		}
	}
}

// raceParentParks: the parent parks again and again, by one count or another, while its children
// finish.
func raceParentParks(e *env.Env) {
	const parents, each, workers = 3, 20, 3
	elders, children := family(e, parents, each)
	random := rand.New(rand.NewPCG(2, 15))
	random.Shuffle(len(children), func(a, b int) { children[a], children[b] = children[b], children[a] })
	var busy atomic.Int64
	busy.Store(workers)
	crowd.Together(e, workers+1, func(i int) error {
		random := rand.New(rand.NewPCG(uint64(i), 17))
		if i == workers {
			return parkEach(e, elders, each, &busy, random)
		}
		defer busy.Add(-1)
		for part := range slices.Chunk(children[i*len(children)/workers:(i+1)*len(children)/workers], 3) {
			batch := &store.Batch{}
			for _, run := range part {
				state := []store.State{store.Completed, store.Completed, store.Completed, store.Failed}[random.IntN(4)]
				batch.Outcomes = append(batch.Outcomes, env.Outcome(run, state))
			}
			if err := crowd.TryNow(e, batch); err != nil {
				return err
			}
		}
		return nil
	})
	for _, parent := range elders {
		if n := len(e.Answers(parent.Job.ID)); n != each {
			e.Fatalf("a parent has %d answers, want %d", n, each)
		}
	}
}

// parkEach parks runs, and those that are woken again, until each has all its answers.
func parkEach(e *env.Env, runs []store.Claimed, each int64, busy *atomic.Int64, random *rand.Rand) error {
	node := runs[0].Lease.Node
	left := len(runs)
	for idle := 0; left > 0; idle++ {
		if busy.Load() > 0 {
			runtime.Gosched()
			idle = 0
		}
		if idle > crowd.Patience {
			return fmt.Errorf("NoLoss: %d parents sleep for ever", left)
		}
		batch := &store.Batch{}
		for _, run := range runs {
			idle = 0
			journals, err := e.Store.Journals(e.Ctx, "", []store.ID{run.Job.ID})
			if err != nil {
				return fmt.Errorf("Journals: %w", err)
			}
			seen := int64(len(journals[0].Messages))
			if seen == each {
				batch.Outcomes = append(batch.Outcomes, env.Outcome(run, store.Completed))
				left--
				continue
			}
			wait := []*store.Wait{
				{Seen: seen, Count: each - seen},
				{Seen: seen, Kinds: store.MessagesOf(store.MessageChild)},
				{Seen: seen, Count: each - seen, Failures: true},
				{Seen: seen, Count: min(2, each-seen)},
			}[random.IntN(4)]
			batch.Outcomes = append(batch.Outcomes,
				env.Outcome(run, store.Waiting, func(o *store.Outcome) { o.Wait, o.Durable = wait, true }))
		}
		if err := crowd.EndNow(e, batch); err != nil {
			return err
		}
		var err error
		if runs, err = crowd.ClaimNow(e, e.Demand(node, 10)); err != nil {
			return err
		}
	}
	return nil
}

// raceClose: many close the children of the same parents, while some of those children finish by
// themselves.
func raceClose(e *env.Env) {
	const parents, each = 3, 16
	elders, children := family(e, parents, each)
	batch := &store.Batch{}
	for i, run := range children {
		if i%2 == 0 {
			batch.Outcomes = append(batch.Outcomes, env.Outcome(run, store.Scheduled, func(o *store.Outcome) { o.Delay = time.Hour }))
		}
	}
	e.Apply(batch)
	batch = &store.Batch{}
	for _, parent := range elders {
		batch.Outcomes = append(batch.Outcomes, env.Outcome(parent, store.Failed, env.WithChildren))
	}
	e.Apply(batch)
	var ended crowd.Tally
	crowd.Together(e, 4, func(i int) error {
		if i == 0 {
			for at := 1; at < len(children); at += 4 {
				o := env.Outcome(children[at], store.Completed)
				if err := crowd.TryNow(e, crowd.Ending(o)); err != nil {
					return err
				}
			}
			return nil
		}
		for range crowd.Patience {
			closed, err := e.Store.CloseChildren(e.Ctx, 3)
			if err != nil {
				return fmt.Errorf("CloseChildren: %w", err)
			}
			ended.Add(closed.Ended...)
			if !closed.More {
				return nil
			}
		}
		return errors.New("CloseChildren says More for ever")
	})
	ended.Add(e.CloseChildren(100)...)
	// A child that one of the others had whenever it was looked at was asked to end, and the sweep
	// sees to it.
	swept, err := e.Store.SweepCancels(e.Ctx)
	if err != nil {
		e.Fatalf("SweepCancels: %v", err)
	}
	wantClosed(e, children, &ended, swept.Jobs)
	for _, parent := range elders {
		if n := len(e.Answers(parent.Job.ID)); n != each*3/4 {
			e.Fatalf("a parent has %d answers, want %d", n, each*3/4)
		}
	}
}

// wantClosed checks what has become of the children: every second one waited, and every fourth
// finished by itself. Of those that waited so many were swept, and each of the others was closed
// once.
func wantClosed(e *env.Env, children []store.Claimed, ended *crowd.Tally, swept int) {
	e.Helper()
	unseen := 0
	for i, run := range children {
		record := e.Get(run.Job.ID)
		switch {
		case i%2 == 0:
			if record.State != store.Cancelled || ended.Seen[run.Job.ID] > 1 {
				e.Fatalf("child %d is %v, and was closed %d times", i, record.State, ended.Seen[run.Job.ID])
			}
			unseen += 1 - ended.Seen[run.Job.ID]
		case i%4 == 1:
			if record.State != store.Completed || ended.Seen[run.Job.ID] != 0 {
				e.Fatalf("child %d is %v, and was closed %d times", i, record.State, ended.Seen[run.Job.ID])
			}
		default:
			if record.State != store.Running || !record.CancelRequested {
				e.Fatalf("child %d is %v, asked: %v", i, record.State, record.CancelRequested)
			}
		}
	}
	if unseen != swept {
		e.Fatalf("%d children were swept, and of %d nobody was told", swept, unseen)
	}
}

// raceFamily: parents and children end in the same moments, in batches that name them in different
// orders. In the end every child has ended, or was asked to.
func raceFamily(e *env.Env) {
	const parents, each = 6, 4
	elders, children := family(e, parents, each, env.OnParentClose(store.TerminateChild))
	everybody := slices.Concat(elders, children)
	random := rand.New(rand.NewPCG(3, 15))
	random.Shuffle(len(everybody), func(a, b int) { everybody[a], everybody[b] = everybody[b], everybody[a] })
	old := map[store.ID]bool{}
	for _, parent := range elders {
		old[parent.Job.ID] = true
	}
	crowd.Together(e, 4, func(i int) error {
		random := rand.New(rand.NewPCG(uint64(i), 18))
		if i == 3 {
			for range 10 {
				if _, err := e.Store.CloseChildren(e.Ctx, 2); err != nil {
					return fmt.Errorf("CloseChildren: %w", err)
				}
			}
			return nil
		}
		mine := everybody[i*len(everybody)/3 : (i+1)*len(everybody)/3]
		for part := range slices.Chunk(mine, 3) {
			batch := &store.Batch{}
			for _, run := range part {
				state := []store.State{store.Completed, store.Failed, store.Retryable}[random.IntN(3)]
				batch.Outcomes = append(batch.Outcomes, env.Outcome(run, state, func(o *store.Outcome) { o.HasChildren = old[run.Job.ID] }))
			}
			if err := crowd.TryNow(e, batch); err != nil {
				return err
			}
			for _, o := range batch.Outcomes {
				if o.Err != nil && !errors.Is(o.Err, store.ErrLeaseLost) {
					return fmt.Errorf("outcome: %w", o.Err)
				}
			}
		}
		return nil
	})
	e.CloseChildren(3)
	for _, parent := range elders {
		record := e.Get(parent.Job.ID)
		ended := 0
		for _, child := range e.List(store.Filter{Parent: parent.Job.ID}, 100) {
			if child.State.Finished() {
				ended++
			} else if record.State.Finished() {
				e.Fatalf("NoLoss: the parent is %v, and a child %v", record.State, child.State)
			}
		}
		if n := len(e.Answers(parent.Job.ID)); record.State != store.Completed && n != ended {
			e.Fatalf("%d children of a %v parent have ended, %d have answered", ended, record.State, n)
		}
	}
}
