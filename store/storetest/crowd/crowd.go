// Package crowd is what tests share that let goroutines compete for the same jobs: they run
// together, fail with errors, as only the goroutine of a test may end it, and count which jobs they
// have seen.
package crowd

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Together runs f n times at once and fails the test on the first error.
func Together(e *env.Env, n int, f func(i int) error) {
	e.Helper()
	e.Competes()
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

// Patience is how often a test looks in vain before the test says that nothing will come any
// more.
const Patience = 20_000

// TryNow applies a batch in a goroutine of a test, which may not fail the test itself.
func TryNow(e *env.Env, batch *store.Batch) error {
	if err := env.ApplyWhole(e.Ctx, e.Store, batch); err != nil {
		return fmt.Errorf("Apply: %w", err)
	}
	return nil
}

// Tally counts, from many goroutines, how often each job was seen.
type Tally struct {
	mu   sync.Mutex
	Seen map[store.ID]int // how often each was; to be read when no goroutine adds to it
}

// Add notes that jobs were seen.
func (t *Tally) Add(ids ...store.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Seen == nil {
		t.Seen = map[store.ID]int{}
	}
	for _, id := range ids {
		t.Seen[id]++
	}
}

// Len is how many jobs were seen.
func (t *Tally) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.Seen)
}

// Forget takes a job out.
func (t *Tally) Forget(id store.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.Seen, id)
}

// WaitFor waits until so many jobs were seen.
func (t *Tally) WaitFor(n int) {
	for {
		t.mu.Lock()
		seen := len(t.Seen)
		t.mu.Unlock()
		if seen >= n {
			return
		}
		runtime.Gosched()
	}
}

// WantOnce checks that each of the jobs was seen once, and nothing else.
func WantOnce(e *env.Env, what string, t *Tally, ids []store.ID) {
	e.Helper()
	for _, id := range ids {
		if t.Seen[id] != 1 {
			e.Errorf("job %v was %s %d times", id, what, t.Seen[id])
		}
	}
	if len(t.Seen) != len(ids) {
		e.Errorf("%d jobs were %s, want %d", len(t.Seen), what, len(ids))
	}
	if e.Failed() {
		e.FailNow()
	}
}

// ClaimNow claims in a goroutine of a test.
func ClaimNow(e *env.Env, params store.ClaimParams) ([]store.Claimed, error) {
	runs, err := e.Store.Claim(e.Ctx, params)
	if err != nil {
		return nil, fmt.Errorf("Claim: %w", err)
	}
	return runs, nil
}

// EndNow applies a batch, all of whose outcomes must be accepted, in a goroutine of a test.
func EndNow(e *env.Env, batch *store.Batch) error {
	if err := TryNow(e, batch); err != nil {
		return err
	}
	return Accepted(batch)
}

// CancelNow asks to cancel jobs in a goroutine of a test.
func CancelNow(e *env.Env, ids []store.ID) ([]store.Result, error) {
	results, _, err := e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: ids, Reason: "r", Actor: "a"})
	if err != nil {
		return nil, fmt.Errorf("Cancel: %w", err)
	}
	return results, nil
}

// TerminateNow ends a job in a goroutine of a test.
func TerminateNow(e *env.Env, id store.ID) error {
	if _, _, err := e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: []store.ID{id}, Terminate: true}); err != nil {
		return fmt.Errorf("Cancel: %w", err)
	}
	return nil
}

// Joined registers n nodes.
func Joined(e *env.Env, n int) []int64 {
	e.Helper()
	nodes := make([]int64, n)
	for i := range nodes {
		nodes[i] = e.Join()
	}
	return nodes
}

// Ending is a batch of one outcome.
func Ending(o *store.Outcome) *store.Batch { return &store.Batch{Outcomes: []*store.Outcome{o}} }

// Signals is a batch that sends a signal to the job of each run.
func Signals(runs []store.Claimed) *store.Batch {
	batch := &store.Batch{}
	for _, run := range runs {
		batch.Sends = append(batch.Sends, &store.Send{Job: run.Job.ID, Message: env.Signal("s")})
	}
	return batch
}

// Accepted is an error if an outcome was not.
func Accepted(batch *store.Batch) error {
	for _, o := range batch.Outcomes {
		if o.Err != nil {
			return fmt.Errorf("outcome: %w", o.Err)
		}
	}
	return nil
}

// Completions are outcomes that complete runs.
func Completions(runs []store.Claimed) []*store.Outcome {
	var outcomes []*store.Outcome
	for _, run := range runs {
		outcomes = append(outcomes, env.Outcome(run, store.Completed))
	}
	return outcomes
}

// FinishRest completes what there is to claim, and notes it.
func FinishRest(e *env.Env, noted ...*Tally) {
	e.Helper()
	for node := e.Join(); ; {
		runs := e.Claim(node, 100)
		if len(runs) == 0 {
			return
		}
		for _, t := range noted {
			t.Add(env.ClaimedIDs(runs)...)
		}
		for _, run := range runs {
			e.End(run, store.Completed)
		}
	}
}

// IDs are the jobs that were seen.
func (t *Tally) IDs() []store.ID {
	var ids []store.ID
	for id := range t.Seen {
		ids = append(ids, id)
	}
	return ids
}

// Remembering makes n runs of jobs that remember, on one node.
func Remembering(e *env.Env, n int) []store.Claimed {
	e.Helper()
	runs := e.Running(n, env.Attempts(100))
	batch := &store.Batch{}
	for _, run := range runs {
		batch.Appends = append(batch.Appends, &store.Append{Lease: run.Lease, Entries: env.Steps(1, 1)})
	}
	e.Apply(batch)
	return runs
}
