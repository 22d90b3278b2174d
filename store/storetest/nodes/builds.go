package nodes

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var buildTests = env.Tests{
	"each_run_tells_by_which_program_it_was_done":      buildsTold,
	"builds_outlive_their_nodes":                       buildsOutlive,
	"builds_are_kept_as_long_as_the_jobs_of_a_class":   buildsOfAClass,
	"builds_are_not_kept_for_ever_even_where_jobs_are": buildsEnd,
	"a_build_may_be_any_text":                          oddBuilds,
}

// joinBuilt registers a node of a program.
func joinBuilt(e *env.Env, program, engine string) int64 {
	e.Helper()
	return joinAs(e, store.NodeInfo{Name: "host/1", Version: program, Engine: engine, Slots: 10})
}

func joinAs(e *env.Env, info store.NodeInfo) int64 {
	e.Helper()
	node, err := e.Store.Join(e.Ctx, info)
	e.NoError("Join", err)
	return node
}

var (
	first  = store.Build{Program: "v1.2.3", Engine: "v0.9.0"}
	second = store.Build{Program: "v1.2.4-0.20261127-abcdef+dirty", Engine: "v1.0.0"}
)

func joinOf(e *env.Env, b store.Build) int64 { return joinBuilt(e, b.Program, b.Engine) }

// buildOf is what the record of a job says of its run, and of its attempts.
func buildOf(e *env.Env, id store.ID) (is store.Build, attempts []store.Build) {
	e.Helper()
	r := e.Get(id)
	for i := range r.Attempts {
		attempts = append(attempts, r.Attempts[i].Build)
	}
	return r.Build, attempts
}

func wantBuilds(e *env.Env, what string, id store.ID, want store.Build, attempts ...store.Build) {
	e.Helper()
	is, was := buildOf(e, id)
	e.Equal(what, is, want)
	e.Equal(what+": attempts", was, attempts)
}

func buildsTold(e *env.Env) {
	id := e.Add(env.Attempts(5))
	wantBuilds(e, "before it ran", id, store.Build{})
	one, other := joinOf(e, first), joinOf(e, second)
	run := e.ClaimOne(one, id)
	wantBuilds(e, "running", id, first)
	e.End(run, store.Available)
	wantBuilds(e, "after an attempt", id, store.Build{}, first)
	run = e.ClaimOne(other, id)
	wantBuilds(e, "running again", id, second, first)
	e.End(run, store.Completed)
	wantBuilds(e, "completed", id, second, first)
	never := e.Add()
	e.Cancel(never)
	wantBuilds(e, "cancelled before it ran", never, store.Build{})
	listed, err := e.Store.Nodes(e.Ctx)
	e.NoError("Nodes", err)
	for _, n := range listed {
		e.Equal("the node", n.Info.Build(), map[int64]store.Build{one: first, other: second}[n.ID])
	}
	e.Equal("nodes", len(listed), 2)
}

// forever keeps all jobs.
var forever = store.Retention{Limit: 100}

// monthly keeps jobs for a month.
var monthly = store.Retention{Completed: 30 * 24 * time.Hour, Failed: 30 * 24 * time.Hour, Cancelled: 30 * 24 * time.Hour, Limit: 100}

// ranOn lets a job be tried on one node, which leaves, and complete on another one, which does.
func ranOn(e *env.Env, change ...func(*store.Enqueue)) store.ID {
	e.Helper()
	id := e.Add(change...)
	one := joinOf(e, first)
	e.End(e.ClaimOne(one, id), store.Available)
	e.Leave(one)
	other := joinOf(e, second)
	e.End(e.ClaimOne(other, id), store.Completed)
	e.Leave(other)
	return id
}

func buildsOutlive(e *env.Env) {
	id := ranOn(e)
	waits := e.Add(env.Attempts(5), env.Queue("slow"))
	node := joinOf(e, first)
	e.End(e.ClaimOne(node, waits), store.Retryable, func(o *store.Outcome) { o.RunAt = e.Clock.Now().Add(1000 * 24 * time.Hour) })
	e.Leave(node)
	for range 29 {
		e.Clock.Advance(24 * time.Hour)
		e.Retain(monthly)
		wantBuilds(e, "kept", id, second, first)
	}
	if nodes, err := e.Store.Nodes(e.Ctx); err != nil || len(nodes) != 0 {
		e.Fatalf("the nodes are %+v, %v", nodes, err)
	}
	e.Clock.Advance(330 * 24 * time.Hour)
	e.Retain(monthly)
	wantBuilds(e, "almost a year later", waits, store.Build{}, first)
	e.Clock.Advance(6*24*time.Hour + env.Slack)
	e.Retain(monthly)
	wantBuilds(e, "a year later", waits, store.Build{}, store.Build{})
}

func buildsOfAClass(e *env.Env) {
	e.SetRetention(store.RetentionClass{Name: "long", Completed: 1000 * 24 * time.Hour})
	e.NameRetention("audit", "long")
	id := ranOn(e, env.Queue("audit"))
	for range 9 {
		e.Clock.Advance(110 * 24 * time.Hour)
		e.Retain(monthly)
		wantBuilds(e, "kept", id, second, first)
	}
}

func buildsEnd(e *env.Env) {
	id := ranOn(e)
	e.Clock.Advance(store.BuildsKeptMost - time.Hour)
	e.Retain(forever)
	wantBuilds(e, "kept", id, second, first)
	e.Clock.Advance(time.Hour + env.Slack)
	e.Retain(forever)
	wantBuilds(e, "over", id, store.Build{}, store.Build{})
}

func oddBuilds(e *env.Env) {
	id := e.Add()
	node := joinBuilt(e, "v1 \"odd\" 'ä'", "\\ {}")
	e.End(e.ClaimOne(node, id), store.Completed)
	wantBuilds(e, "odd", id, store.Build{Program: "v1 \"odd\" 'ä'", Engine: "\\ {}"})
	e.Leave(node)
	e.Clock.Advance(48 * time.Hour)
	e.Retain(forever)
	wantBuilds(e, "odd and gone", id, store.Build{Program: "v1 \"odd\" 'ä'", Engine: "\\ {}"})
}
