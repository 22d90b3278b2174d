package sqlite_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// TestTurnsAreTold: the next job of an ordering key is told of at once, by the answer of what ends
// the one before it, and by nothing else.
func TestTurnsAreTold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	source := sqlite.File(file(t))
	source.Poll = time.Millisecond
	s := open(t, source)
	wakes, ended := make(chan store.Wake, 10), make(chan error)
	go func() { ended <- s.Watch(ctx, func(w store.Wake) { wakes <- w }) }()

	batch := &store.Batch{}
	for range 3 {
		q := newJob()
		q.Job.OrderingKey = "key"
		batch.Enqueues = append(batch.Enqueues, q)
	}
	if err := store.ApplyEach(ctx, s, batch); err != nil || len(batch.Woken) != 0 {
		t.Fatal(batch.Woken, err)
	}
	node, err := s.Join(ctx, store.NodeInfo{Policies: map[string]store.Policy{"send": {MaxAttempts: 1}}})
	must(t, err)
	want := store.Wake{Kind: store.WakeReady, Namespace: "default", Queue: "mail"}

	first, err := claim(ctx, s, node, 1, 10)
	if err != nil || len(first) != 1 {
		t.Fatal(len(first), err)
	}
	end := &store.Batch{Outcomes: []*store.Outcome{{Lease: first[0].Lease, State: store.Completed, HasOrdering: true}}}
	if err := store.ApplyEach(ctx, s, end); err != nil || len(end.Woken) != 1 || end.Woken[0].Queue != want.Queue {
		t.Fatalf("%+v, %v", end.Woken, err)
	}

	second, err := claim(ctx, s, node, 2, 10)
	if err != nil || len(second) != 1 {
		t.Fatal(len(second), err)
	}
	leader := join(t, s)
	beat, err := s.Beat(ctx, store.BeatParams{Node: leader, LeaderTTL: time.Minute, Lead: true})
	must(t, err)
	rescued, err := s.Rescue(ctx, store.RescueParams{Dead: beat.Nodes})
	if err != nil || len(rescued.Jobs) != 1 || rescued.Jobs[0].State != store.Failed {
		t.Fatalf("%+v, %v", rescued.Jobs, err)
	}
	told := rescued.Wakes
	if len(told) != 1 || told[0].Kind != want.Kind || told[0].Namespace != want.Namespace || told[0].Queue != want.Queue {
		t.Errorf("%+v", told)
	}
	// Watch tells only of what another store writes.
	must(t, enqueue(ctx, open(t, source), 1))
	all := []store.Wake{<-wakes}
	cancel()
	must(t, <-ended)
	for len(wakes) > 0 {
		all = append(all, <-wakes)
	}
	for _, w := range all {
		if w.Kind != store.WakeAll {
			t.Errorf("%+v", w)
		}
	}
}

// TestAskedNodesAreTold: another store hears which node people want something else of, when they
// ask and when they take it back, and it is recorded who did so.
func TestAskedNodesAreTold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	source := sqlite.File(file(t))
	source.Poll = time.Millisecond
	s := open(t, source)
	node := join(t, s)
	join(t, s)
	wakes, ended := make(chan store.Wake, 100), make(chan error)
	go func() { ended <- s.Watch(ctx, func(w store.Wake) { wakes <- w }) }()
	other := open(t, source)
	for i, mode := range []store.NodeMode{store.NodeQuiet, store.NodeQuiet, store.NodeRuns, store.NodeDrains} {
		must(t, other.AskNode(ctx, store.AskNodeParams{Node: node, Mode: mode, Actor: "ada"}))
		must(t, enqueue(ctx, other, 1))
		for again := i == 1; !again; {
			if w := <-wakes; w.Kind == store.WakeNode {
				if again = true; w.Node != node {
					t.Errorf("%+v", w)
				}
			}
		}
	}
	cancel()
	must(t, <-ended)
	for len(wakes) > 0 {
		if w := <-wakes; w.Kind != store.WakeAll {
			t.Errorf("%+v", w)
		}
	}
	db, err := sql.Open("sqlite", source.Path)
	must(t, err)
	defer db.Close()
	var recorded string
	must(t, db.QueryRowContext(t.Context(),
		"SELECT group_concat(action || ' of ' || node || ' by ' || actor) FROM holdfast_audit").Scan(&recorded))
	if want := "quiet of 1 by ada,resume of 1 by ada,drain of 1 by ada"; recorded != want {
		t.Errorf("recorded is %q, want %q", recorded, want)
	}
}
