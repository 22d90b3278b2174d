package postgres_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// TestAClaimOfFewMeetsManyOverTheirLimit: others wait for the rules of the limit until it commits,
// so it does not send statements for each of them. What it had no room for stays ready.
func TestAClaimOfFewMeetsManyOverTheirLimit(t *testing.T) {
	t.Parallel()
	s, count := asking(t, used(t, nil))
	settings := store.LimitSettings{Capacity: 1, PerKey: true}
	if _, err := s.SaveLimit(t.Context(), store.Limit{Namespace: "default", Name: "tenant", LimitSettings: settings}, 0, ""); err != nil {
		t.Fatal(err)
	}
	by := func(key string) *store.Enqueue {
		return newJob(func(q *store.Enqueue) { q.Job.Options.Limit, q.Job.Options.LimitKey = "tenant", key })
	}
	node, seq := join(t, s), int64(0)
	claim := func() []store.Claimed {
		seq++
		runs, err := s.Claim(t.Context(), demand(node, seq, 1))
		if err != nil {
			t.Fatal(err)
		}
		return runs
	}
	enqueue(t, s, by("a"))
	if n := len(claim()); n != 1 {
		t.Fatalf("%d jobs were claimed", n)
	}
	var jobs []*store.Enqueue
	for range 1000 {
		jobs = append(jobs, by("a"))
	}
	jobs = append(jobs, several(300)...)
	enqueue(t, s, jobs...)
	count.n.Store(0)
	runs := claim()
	if len(runs) != 1 || runs[0].Job.ID != jobs[1000].Job.ID {
		t.Fatalf("claimed %v", runs)
	}
	if n := count.n.Load(); n > 70 {
		t.Errorf("%d statements for a claim that met 1,000 jobs over their limit", n)
	}
	for i := 1001; i < len(jobs); i++ {
		if runs = claim(); len(runs) != 1 || runs[0].Job.ID != jobs[i].Job.ID {
			t.Fatalf("claim %d took %v, want job %d", i, runs, i)
		}
	}
	if runs = claim(); len(runs) != 0 {
		t.Fatalf("claimed %v beside one that runs", runs)
	}
}

// perKey makes limits of one job a key.
func perKey(t *testing.T, s store.Store, names ...string) {
	t.Helper()
	for _, name := range names {
		l := store.Limit{Namespace: "default", Name: name, LimitSettings: store.LimitSettings{Capacity: 1, PerKey: true}}
		if _, err := s.SaveLimit(t.Context(), l, 0, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// ofLimit is a job of a limit per key.
func ofLimit(name string) *store.Enqueue {
	return newJob(func(q *store.Enqueue) { q.Job.Options.Limit, q.Job.Options.LimitKey = name, "k" })
}

// holdRule locks the rule of a limit, as a process does that has stopped in a claim, until it is
// called.
func holdRule(t *testing.T, config postgres.Config, name string) (release func()) {
	t.Helper()
	conn := connect(t, config.URL)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lock := fmt.Sprintf("SELECT 1 FROM %s.limit_rule WHERE name = $1 FOR NO KEY UPDATE", config.SchemaName)
	if _, err := tx.Exec(t.Context(), lock, name); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestAClaimLocksRulesOnce: a claim that has locked the rules of some limits waits for those of no
// others, as claims that meet two limits the one way and the other way round would wait for each
// other. What it met of others stays ready.
func TestAClaimLocksRulesOnce(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	s := open(t, config)
	perKey(t, s, "a", "b")
	node := join(t, s)
	enqueue(t, s, ofLimit("a"))
	if runs, err := s.Claim(t.Context(), demand(node, 1, 1)); err != nil || len(runs) != 1 {
		t.Fatalf("%d jobs, %v", len(runs), err)
	}
	waits, free := ofLimit("a"), ofLimit("b")
	enqueue(t, s, waits, free)
	release := holdRule(t, config, "b")
	var passed store.Passed
	params := demand(node, 2, 1)
	params.Passed = &passed
	runs, err := s.Claim(t.Context(), params)
	if err != nil || len(runs) != 0 || passed.Jobs != 1 || !passed.More {
		t.Errorf("beside a claim that has the other limit: %d jobs, %+v, %v", len(runs), passed, err)
	}
	release()
	if runs, err = s.Claim(t.Context(), demand(node, 3, 1)); err != nil || len(runs) != 1 || runs[0].Job.ID != free.Job.ID {
		t.Errorf("then: %v, %v", runs, err)
	}
}

// TestNoneOvertakesWhatAClaimPutsBack: where a claim meets a job of another limit than those whose
// rules it has locked it takes none that comes after it.
func TestNoneOvertakesWhatAClaimPutsBack(t *testing.T) {
	t.Parallel()
	s := open(t, used(t, nil))
	perKey(t, s, "a", "b")
	node := join(t, s)
	enqueue(t, s, ofLimit("a"))
	if runs, err := s.Claim(t.Context(), demand(node, 1, 1)); err != nil || len(runs) != 1 {
		t.Fatalf("%d jobs, %v", len(runs), err)
	}
	waits, before, free, after := ofLimit("a"), newJob(), ofLimit("b"), newJob()
	enqueue(t, s, waits, before, free, after)
	for i, want := range [][]store.ID{{before.Job.ID}, {free.Job.ID, after.Job.ID}} {
		var passed store.Passed
		params := demand(node, int64(2+i), 2)
		params.Passed = &passed
		runs, err := s.Claim(t.Context(), params)
		if got := env.ClaimedIDs(runs); err != nil || !slices.Equal(got, want) {
			t.Errorf("claim %d took %v, %v, want %v", i, got, err, want)
		}
		if more := len(want) < params.Limit; passed.More != more {
			t.Errorf("claim %d says %+v, want more: %v", i, passed, more)
		}
	}
}

// TestAHeldRuleHoldsUpNoOthers: while a process that has stopped holds the rule of a limit, jobs
// that have none are claimed; those of the limit are as soon as it is free.
func TestAHeldRuleHoldsUpNoOthers(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	s := open(t, config)
	perKey(t, s, "a")
	node, seq := join(t, s), int64(0)
	claim := func() []store.Claimed {
		seq += 10
		runs, err := s.Claim(t.Context(), demand(node, seq, 10))
		if err != nil {
			t.Fatal(err)
		}
		return runs
	}
	claim() // so that the process knows of the limit
	release := holdRule(t, config, "a")
	enqueue(t, s, newJob(), ofLimit("a"), newJob(), newJob())
	if runs := claim(); len(runs) != 3 {
		t.Errorf("%d of 3 jobs without a limit are claimed", len(runs))
	}
	enqueue(t, s, newJob())
	if runs := claim(); len(runs) != 1 {
		t.Errorf("%d of 1 job without a limit are claimed", len(runs))
	}
	release()
	for runs := claim(); len(runs) == 0; runs = claim() {
		time.Sleep(10 * time.Millisecond) //nolint:forbidigo // until the process looks at the limit again
	}
}
