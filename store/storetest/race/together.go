package race

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// together runs f n times at once and fails the test on the first error.
func together(e *env.Env, n int, f func(i int) error) {
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

// patience is how often a test looks in vain before the test says that nothing will come any
// more.
const patience = 20_000

// tryNow applies a batch in a goroutine of a test, which may not fail the test itself.
func tryNow(e *env.Env, batch *store.Batch) error {
	if err := env.ApplyWhole(e.Ctx, e.Store, batch); err != nil {
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

// forget takes a job out.
func (t *tally) forget(id store.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.seen, id)
}

// waitFor waits until so many jobs were seen.
func (t *tally) waitFor(n int) {
	for {
		t.mu.Lock()
		seen := len(t.seen)
		t.mu.Unlock()
		if seen >= n {
			return
		}
		runtime.Gosched()
	}
}

// wantOnce checks that each of the jobs was seen once, and nothing else.
func wantOnce(e *env.Env, what string, t *tally, ids []store.ID) {
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

// claimNow claims in a goroutine of a test.
func claimNow(e *env.Env, params store.ClaimParams) ([]store.Claimed, error) {
	runs, err := e.Store.Claim(e.Ctx, params)
	if err != nil {
		return nil, fmt.Errorf("Claim: %w", err)
	}
	return runs, nil
}

// endNow applies a batch, all of whose outcomes must be accepted, in a goroutine of a test.
func endNow(e *env.Env, batch *store.Batch) error {
	if err := tryNow(e, batch); err != nil {
		return err
	}
	return accepted(batch)
}

// cancelNow asks to cancel jobs in a goroutine of a test.
func cancelNow(e *env.Env, ids []store.ID) ([]store.Result, error) {
	results, _, err := e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: ids, Reason: "r", Actor: "a"})
	if err != nil {
		return nil, fmt.Errorf("Cancel: %w", err)
	}
	return results, nil
}

// terminateNow ends a job in a goroutine of a test.
func terminateNow(e *env.Env, id store.ID) error {
	if _, _, err := e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: []store.ID{id}, Terminate: true}); err != nil {
		return fmt.Errorf("Cancel: %w", err)
	}
	return nil
}

// joined registers n nodes.
func joined(e *env.Env, n int) []int64 {
	e.Helper()
	nodes := make([]int64, n)
	for i := range nodes {
		nodes[i] = e.Join()
	}
	return nodes
}

// ending is a batch of one outcome.
func ending(o *store.Outcome) *store.Batch { return &store.Batch{Outcomes: []*store.Outcome{o}} }

// signals is a batch that sends a signal to the job of each run.
func signals(runs []store.Claimed) *store.Batch {
	batch := &store.Batch{}
	for _, run := range runs {
		batch.Sends = append(batch.Sends, &store.Send{Job: run.Job.ID, Message: env.Signal("s")})
	}
	return batch
}

// accepted is an error if an outcome was not.
func accepted(batch *store.Batch) error {
	for _, o := range batch.Outcomes {
		if o.Err != nil {
			return fmt.Errorf("outcome: %w", o.Err)
		}
	}
	return nil
}

// completions are outcomes that complete runs.
func completions(runs []store.Claimed) []*store.Outcome {
	var outcomes []*store.Outcome
	for _, run := range runs {
		outcomes = append(outcomes, env.Outcome(run, store.Completed))
	}
	return outcomes
}

// finishRest completes what there is to claim, and notes it.
func finishRest(e *env.Env, noted ...*tally) {
	e.Helper()
	for node := e.Join(); ; {
		runs := e.Claim(node, 100)
		if len(runs) == 0 {
			return
		}
		for _, t := range noted {
			t.add(env.ClaimedIDs(runs)...)
		}
		for _, run := range runs {
			e.End(run, store.Completed)
		}
	}
}

// ids are the jobs that were seen.
func (t *tally) ids() []store.ID {
	var ids []store.ID
	for id := range t.seen {
		ids = append(ids, id)
	}
	return ids
}
