package race

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/crowd"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// raceContext: a caller gives up at any moment. It is unknown then whether the batch was committed;
// but it was as a whole or not at all, and sending it again by the rules brings it to its end.
func raceContext(e *env.Env) {
	node := e.Join()
	for round := range 20 {
		e.Enqueue(e.Job(), e.Job())
		runs := e.Claim(node, 2)
		send := func() *store.Batch {
			return &store.Batch{Outcomes: []*store.Outcome{env.Outcome(runs[0], store.Completed), env.Outcome(runs[1], store.Failed)}}
		}
		batch := send()
		for range 10 {
			batch.Enqueues = append(batch.Enqueues, e.Job(env.Kind("later")))
		}
		ctx, cancel := context.WithCancel(e.Ctx)
		var err error
		crowd.Together(e, 2, func(i int) error {
			if i == 0 {
				for range round * 20 {
					runtime.Gosched()
				}
				cancel()
				return nil
			}
			err = store.ApplyEach(ctx, e.Store, batch)
			return nil
		})
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, store.ErrUnavailable) {
			e.Fatalf("Apply: %v", err)
		}
		happened := e.Get(runs[0].Job.ID).State == store.Completed
		if err == nil && !happened {
			e.Fatal("NoLoss: Apply returned, and its outcome is not there")
		}
		if failed := e.Get(runs[1].Job.ID).State == store.Failed; failed != happened {
			e.Fatalf("the first outcome happened: %v, the second: %v", happened, failed)
		}
		for _, q := range batch.Enqueues {
			if _, err := e.Store.Get(e.Ctx, "", q.Job.ID); (err == nil) != happened {
				e.Fatalf("the outcomes happened: %v, the enqueue of %v: %v", happened, q.Job.ID, err)
			}
		}
		again := send()
		for _, o := range again.Outcomes {
			o.Repeat = true
		}
		again.Enqueues = batch.Enqueues
		e.Apply(again)
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

// raceContextElsewhere: the caller of a transition gives up at any moment, and so, perhaps, does
// the transition. Every job is in one place then, from which it can be brought to its end.
func raceContextElsewhere(e *env.Env) {
	for name, ask := range map[string]func(ctx context.Context, node int64, ids []store.ID) error{
		"cancel": func(ctx context.Context, _ int64, ids []store.ID) error {
			_, _, err := e.Store.Cancel(ctx, store.CancelParams{Jobs: ids, Actor: "ada"})
			return err
		},
		"terminate": func(ctx context.Context, _ int64, ids []store.ID) error {
			_, _, err := e.Store.Cancel(ctx, store.CancelParams{Jobs: ids, Actor: "ada", Terminate: true})
			return err
		},
		"retry": func(ctx context.Context, _ int64, ids []store.ID) error {
			_, _, err := e.Store.Retry(ctx, store.RetryParams{Jobs: ids, Actor: "ada"})
			return err
		},
		"pause": func(ctx context.Context, _ int64, ids []store.ID) error {
			_, _, err := e.Store.PauseJobs(ctx, store.PauseJobsParams{Jobs: ids, Actor: "ada"})
			return err
		},
		"leave": func(ctx context.Context, node int64, _ []store.ID) error {
			_, err := e.Store.Leave(ctx, node)
			return err
		},
		"promote": func(ctx context.Context, _ int64, _ []store.ID) error {
			_, err := e.Store.Promote(ctx, 100)
			return err
		},
		"claim": func(ctx context.Context, node int64, _ []store.ID) error {
			_, err := e.Store.Claim(ctx, e.Demand(node, 10))
			return err
		},
	} {
		for round := range 8 {
			node := e.Join()
			queue := fmt.Sprint(name, round)
			ids := motley(e, node, queue)
			ctx, cancel := context.WithCancel(e.Ctx)
			crowd.Together(e, 2, func(i int) error {
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
			allInOnePlace(e, name, queue, ids)
		}
	}
}

// motley makes jobs of a queue in every place: due, due later, running, to be retried, failed,
// completed.
func motley(e *env.Env, node int64, name string) []store.ID {
	e.Helper()
	ids := env.IDsOf(e.Many(4, env.Queue(name), env.Attempts(2)))
	runs := e.Claim(node, 4)
	e.End(runs[0], store.Completed)
	e.End(runs[1], store.Failed)
	e.End(runs[2], store.Retryable, func(o *store.Outcome) { o.Delay = time.Hour })
	return append(ids, e.Add(env.Queue(name)), e.Add(env.Queue(name), env.Delay(time.Hour)), e.Add(env.Queue(name), env.Delay(time.Second)))
}

// allInOnePlace checks that each job of the queue is listed once, and lets itself be ended.
func allInOnePlace(e *env.Env, after, queue string, ids []store.ID) {
	e.Helper()
	seen := map[store.ID]int{}
	for _, state := range store.States {
		for _, record := range e.List(store.Filter{States: []store.State{state}, Queues: []string{queue}}, 1000) {
			seen[record.ID]++
		}
	}
	for _, id := range ids {
		if record, err := e.Store.Get(e.Ctx, "", id); err != nil || seen[id] != 1 {
			e.Fatalf("after %s that was given up job %v is listed %d times: %v, %v", after, id, seen[id], record.State, err)
		}
	}
	results, _, err := e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: ids, Terminate: true})
	e.NoError("terminate", err)
	for _, r := range results {
		if state := e.Get(r.Job).State; r.Err != nil || !state.Finished() {
			e.Fatalf("after %s that was given up job %v cannot be ended: %v, %v", after, r.Job, state, r.Err)
		}
	}
}
