package storetest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var closedTests = []test{
	{"a_closed_store_says_so", closedSays},
	{"closing_twice_does_nothing", closedTwice},
}

// closedSays: every operation that would do something, or tell of something.
func closedSays(e *env) {
	run := e.durable(1)
	waiting := e.add(delay(time.Hour))
	if err := e.store.Close(); err != nil {
		e.Fatalf("Close: %v", err)
	}
	id := run.Job.ID
	calls := map[string]func() error{
		"Apply, an enqueue": func() error { return e.store.Apply(e.ctx, &store.Batch{Enqueues: []*store.Enqueue{e.job()}}) },
		"Apply, an outcome": func() error {
			return e.store.Apply(e.ctx, &store.Batch{Outcomes: []*store.Outcome{outcome(run, store.Completed)}})
		},
		"Apply, an append": func() error {
			return e.store.Apply(e.ctx, &store.Batch{Appends: []*store.Append{{Lease: run.Lease, Entries: steps(2, 2)}}})
		},
		"Apply, a send": func() error {
			return e.store.Apply(e.ctx, &store.Batch{Sends: []*store.Send{{Job: id, Message: signal("s")}}})
		},
		"Apply, a checkpoint": func() error {
			return e.store.Apply(e.ctx, &store.Batch{Checkpoints: []*store.CheckpointWrite{{Lease: run.Lease}}})
		},
		"AwaitTx": func() error { return e.store.AwaitTx(e.ctx, id) },
		"Claim":   func() error { _, err := e.store.Claim(e.ctx, e.demand(run.Lease.Node, 1)); return err },
		"Join":    func() error { _, err := e.store.Join(e.ctx, store.NodeInfo{Name: "n"}); return err },
		"Beat":    func() error { _, err := e.store.Beat(e.ctx, store.BeatParams{Node: run.Lease.Node}); return err },
		"Leave":   func() error { return e.store.Leave(e.ctx, run.Lease.Node) },
		"Nodes":   func() error { _, err := e.store.Nodes(e.ctx); return err },
		"Cancel": func() error {
			_, err := e.store.Cancel(e.ctx, store.CancelParams{Jobs: []store.ID{waiting}})
			return err
		},
		"Retry": func() error { _, err := e.store.Retry(e.ctx, store.RetryParams{Jobs: []store.ID{waiting}}); return err },
		"Pause": func() error {
			return e.store.Pause(e.ctx, store.PauseParams{Namespace: namespace, Queue: "mail", Paused: true})
		},
		"PauseJobs": func() error {
			_, err := e.store.PauseJobs(e.ctx, store.PauseJobsParams{Jobs: []store.ID{waiting}})
			return err
		},
		"Resume":    func() error { _, err := e.store.Resume(e.ctx, resumption(waiting)); return err },
		"Fork":      func() error { return e.store.Fork(e.ctx, store.ForkParams{From: id, Keep: 1, Job: e.job().Job}) },
		"Get":       func() error { _, err := e.store.Get(e.ctx, id); return err },
		"Obstacles": func() error { _, err := e.store.Obstacles(e.ctx, id); return err },
		"List":      func() error { _, err := e.store.List(e.ctx, store.ListParams{Limit: 1}); return err },
		"Queues":    func() error { _, err := e.store.Queues(e.ctx, namespace); return err },
		"Unserved":  func() error { _, err := e.store.Unserved(e.ctx, 1); return err },
		"Journals":  func() error { _, err := e.store.Journals(e.ctx, []store.ID{id}); return err },
		"Entries":   func() error { _, err := e.store.Entries(e.ctx, store.JournalParams{Job: id, Limit: 1}); return err },
		"Messages":  func() error { _, err := e.store.Messages(e.ctx, store.InboxParams{Job: id, Limit: 1}); return err },
		"Ended":     func() error { _, err := e.store.Ended(e.ctx, []store.ID{id}); return err },
		"Promote":   func() error { _, err := e.store.Promote(e.ctx, 1); return err },
		"Rescue":    func() error { _, err := e.store.Rescue(e.ctx, store.RescueParams{}); return err },
		"SweepCancels": func() error {
			_, err := e.store.SweepCancels(e.ctx)
			return err
		},
		"CloseChildren": func() error { _, err := e.store.CloseChildren(e.ctx, 1); return err },
		"Retain":        func() error { _, err := e.store.Retain(e.ctx, store.RetainParams{Completed: time.Hour}); return err },
	}
	for m := range reflect.TypeFor[store.Store]().Methods() {
		asks := m.Type.NumIn() > 0 && m.Type.In(0) == reflect.TypeFor[context.Context]()
		if asks && calls[m.Name] == nil && !slices.Contains([]string{"Apply", "EnqueueTx", "SendTx", "AppendTx", "Watch"}, m.Name) {
			e.Errorf("%s is forgotten here", m.Name)
		}
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, store.ErrClosed) {
			e.Errorf("%s of a closed store: %v", name, err)
		}
	}
	// What asks for nothing may be called for ever.
	e.store.Notify(store.Wake{Kind: store.WakeAll})
	if e.store.Traits().Name == "" || e.store.Now().IsZero() {
		e.Error("a closed store has forgotten what it is")
	}
}

func closedTwice(e *env) {
	for range 3 {
		if err := e.store.Close(); err != nil {
			e.Fatalf("Close: %v", err)
		}
	}
}
