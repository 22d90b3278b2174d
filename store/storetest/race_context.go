package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// raceContextElsewhere: whoever asks for a transition gives up at any moment, and so, perhaps, does the transition.
// Every job is in one place then, from which it can be brought to its end.
func raceContextElsewhere(e *env) {
	for name, ask := range map[string]func(ctx context.Context, node int64, ids []store.ID) error{
		"cancel": func(ctx context.Context, _ int64, ids []store.ID) error {
			_, err := e.store.Cancel(ctx, store.CancelParams{Jobs: ids, Actor: "ada"})
			return err
		},
		"terminate": func(ctx context.Context, _ int64, ids []store.ID) error {
			_, err := e.store.Cancel(ctx, store.CancelParams{Jobs: ids, Actor: "ada", Terminate: true})
			return err
		},
		"retry": func(ctx context.Context, _ int64, ids []store.ID) error {
			_, err := e.store.Retry(ctx, store.RetryParams{Jobs: ids, Actor: "ada"})
			return err
		},
		"pause": func(ctx context.Context, _ int64, ids []store.ID) error {
			_, err := e.store.PauseJobs(ctx, store.PauseJobsParams{Jobs: ids, Actor: "ada"})
			return err
		},
		"leave": func(ctx context.Context, node int64, _ []store.ID) error { return e.store.Leave(ctx, node) },
		"promote": func(ctx context.Context, _ int64, _ []store.ID) error {
			_, err := e.store.Promote(ctx, 100)
			return err
		},
		"claim": func(ctx context.Context, node int64, _ []store.ID) error {
			_, err := e.store.Claim(ctx, e.demand(node, 10))
			return err
		},
	} {
		for round := range 8 {
			node := e.join()
			queue := fmt.Sprint(name, round)
			ids := e.motley(node, queue)
			ctx, cancel := context.WithCancel(e.ctx)
			e.together(2, func(i int) error {
				if i == 0 {
					for range round * 30 {
						runtime.Gosched()
					}
					cancel()
					return nil
				}
				err := ask(ctx, node, ids)
				if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, store.ErrUnavailable) {
					e.Errorf("%s: %v", name, err)
				}
				return nil
			})
			e.allInOnePlace(name, queue, ids)
		}
	}
}

// motley makes jobs of a queue in every place: due, due later, running, to be retried, failed, completed.
func (e *env) motley(node int64, name string) []store.ID {
	e.Helper()
	var ids []store.ID
	for range 4 {
		ids = append(ids, e.add(queue(name), attempts(2)))
	}
	runs := e.claim(node, 4)
	e.end(runs[0], store.Completed)
	e.end(runs[1], store.Failed)
	e.end(runs[2], store.Retryable, func(o *store.Outcome) { o.Delay = time.Hour })
	return append(ids, e.add(queue(name)), e.add(queue(name), delay(time.Hour)), e.add(queue(name), delay(time.Second)))
}

// allInOnePlace checks that each job of the queue is listed once, and lets itself be ended.
func (e *env) allInOnePlace(after, queue string, ids []store.ID) {
	e.Helper()
	seen := map[store.ID]int{}
	for _, state := range store.States {
		for _, record := range e.list(store.Filter{States: []store.State{state}, Queues: []string{queue}}, 1000) {
			seen[record.ID]++
		}
	}
	for _, id := range ids {
		if record, err := e.store.Get(e.ctx, id); err != nil || seen[id] != 1 {
			e.Fatalf("after %s that was given up job %v is listed %d times: %v, %v", after, id, seen[id], record.State, err)
		}
	}
	results, err := e.store.Cancel(e.ctx, store.CancelParams{Jobs: ids, Terminate: true})
	if err != nil {
		e.Fatalf("terminate: %v", err)
	}
	for _, r := range results {
		if state := e.get(r.Job).State; r.Err != nil || !state.Finished() {
			e.Fatalf("after %s that was given up job %v cannot be ended: %v, %v", after, r.Job, state, r.Err)
		}
	}
}
