package operate

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var closedTests = env.Tests{
	"a_closed_store_says_so":     closedSays,
	"closing_twice_does_nothing": closedTwice,
}

func closedTwice(e *env.Env) {
	for range 3 {
		if err := e.Store.Close(); err != nil {
			e.Fatalf("Close: %v", err)
		}
	}
}

// closedSays: every operation that would do something, or tell of something.
func closedSays(e *env.Env) {
	run := e.Durable(1)
	waiting := e.Add(env.Delay(time.Hour))
	if err := e.Store.Close(); err != nil {
		e.Fatalf("Close: %v", err)
	}
	calls := env.Merged(closedNodes(e, run), closedVerbs(e, run.Job.ID, waiting), closedReads(e, run.Job.ID))
	for m := range reflect.TypeFor[store.Store]().Methods() {
		asks := m.Type.NumIn() > 0 && m.Type.In(0) == reflect.TypeFor[context.Context]()
		if asks && calls[m.Name] == nil && !slices.Contains([]string{"Apply", "EnqueueTx", "SendTx", "AppendTx", "Watch"}, m.Name) {
			e.Errorf("%s is forgotten here", m.Name)
		}
	}
	applied := map[string]*store.Batch{
		"an enqueue":   {Enqueues: []*store.Enqueue{e.Job()}},
		"an outcome":   {Outcomes: []*store.Outcome{env.Outcome(run, store.Completed)}},
		"an append":    {Appends: []*store.Append{{Lease: run.Lease, Entries: env.Steps(2, 2)}}},
		"a send":       {Sends: []*store.Send{{Job: run.Job.ID, Message: env.Signal("s")}}},
		"a checkpoint": {Checkpoints: []*store.CheckpointWrite{{Lease: run.Lease}}},
	}
	for what, batch := range applied {
		calls["Apply, "+what] = func() error { return store.ApplyEach(e.Ctx, e.Store, batch) }
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, store.ErrClosed) {
			e.Errorf("%s of a closed store: %v", name, err)
		}
	}
	// What asks for nothing may be called for ever.
	e.Store.Notify(store.Wake{Kind: store.WakeAll})
	if e.Store.Traits().Name == "" || e.Store.Now().IsZero() {
		e.Error("a closed store has forgotten what it is")
	}
}

// calls are operations by their names.
type calls map[string]func() error

// closedNodes are the operations of nodes and leaders.
func closedNodes(e *env.Env, run store.Claimed) calls {
	return calls{
		"Claim":         func() error { return second(e.Store.Claim(e.Ctx, e.Demand(run.Lease.Node, 1))) },
		"Join":          func() error { return second(e.Store.Join(e.Ctx, store.NodeInfo{Name: "n"})) },
		"Beat":          func() error { return second(e.Store.Beat(e.Ctx, store.BeatParams{Node: run.Lease.Node})) },
		"Leave":         func() error { return e.Store.Leave(e.Ctx, run.Lease.Node) },
		"Nodes":         func() error { return second(e.Store.Nodes(e.Ctx)) },
		"Promote":       func() error { return second(e.Store.Promote(e.Ctx, 1)) },
		"Rescue":        func() error { return second(e.Store.Rescue(e.Ctx, store.RescueParams{})) },
		"SweepCancels":  func() error { return second(e.Store.SweepCancels(e.Ctx)) },
		"CloseChildren": func() error { return second(e.Store.CloseChildren(e.Ctx, 1)) },
		"Retain":        func() error { return second(e.Store.Retain(e.Ctx, store.Retention{Completed: time.Hour})) },
	}
}

// closedVerbs are those of people.
func closedVerbs(e *env.Env, id, waiting store.ID) calls {
	these := []store.ID{waiting}
	return calls{
		"AwaitTx":   func() error { return e.Store.AwaitTx(e.Ctx, id) },
		"Cancel":    func() error { return second(e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: these})) },
		"Retry":     func() error { return second(e.Store.Retry(e.Ctx, store.RetryParams{Jobs: these})) },
		"PauseJobs": func() error { return second(e.Store.PauseJobs(e.Ctx, store.PauseJobsParams{Jobs: these})) },
		"Resume":    func() error { return second(e.Store.Resume(e.Ctx, env.Resumption(waiting))) },
		"Fork":      func() error { return e.Store.Fork(e.Ctx, store.ForkParams{From: id, Keep: 1, Job: e.Job().Job}) },
		"Pause": func() error {
			return e.Store.Pause(e.Ctx, store.PauseParams{Namespace: env.Namespace, Queue: "mail", Paused: true})
		},
	}
}

// closedReads are those that only look.
func closedReads(e *env.Env, id store.ID) calls {
	return calls{
		"Get":       func() error { return second(e.Store.Get(e.Ctx, "", id)) },
		"Obstacles": func() error { return second(e.Store.Obstacles(e.Ctx, "", id)) },
		"List":      func() error { return second(e.Store.List(e.Ctx, store.ListParams{Limit: 1})) },
		"Queues":    func() error { return second(e.Store.Queues(e.Ctx, env.Namespace)) },
		"Unserved":  func() error { return second(e.Store.Unserved(e.Ctx, 1)) },
		"Journals":  func() error { return second(e.Store.Journals(e.Ctx, "", []store.ID{id})) },
		"Entries":   func() error { return second(e.Store.Entries(e.Ctx, store.JournalParams{Job: id, Limit: 1})) },
		"Messages":  func() error { return second(e.Store.Messages(e.Ctx, store.InboxParams{Job: id, Limit: 1})) },
		"Ended":     func() error { return second(e.Store.Ended(e.Ctx, "", []store.ID{id})) },
	}
}
