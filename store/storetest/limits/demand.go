package limits

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var demandTests = env.Tests{
	"LimitsHold_a_job_counts_in_the_narrowest_demand":     demandTable,
	"Order_what_a_demand_leaves_comes_with_the_next_one":  demandRest,
	"LimitsHold_many_demands_and_many_lanes":              demandMany,
	"LimitsHold_a_claim_that_is_repeated_is_the_same_one": demandAgain,
	"names_of_demands_are_any_text":                       demandTexts,
}

// demandQueues and demandKinds are those of the jobs: each queue has all kinds, in two priorities.
var (
	demandQueues = []string{"a", "b", "c"}
	demandKinds  = []string{"send", "push", "bill@v1"}
)

func demandJobs(e *env.Env) {
	e.Helper()
	for range 3 {
		for _, queue := range demandQueues {
			for _, kind := range []string{"send", "push", "bill"} {
				for _, priority := range []int{1, 2} {
					version := func(q *store.Enqueue) {
						if kind == "bill" {
							q.Job.Version = "v1"
						}
					}
					e.Enqueue(e.Job(env.Queue(queue), env.Kind(kind), env.Priority(priority), version))
					e.Clock.Advance(time.Millisecond)
				}
			}
		}
	}
}

// expected are the jobs that a claim must take, in their order.
func expected(e *env.Env, params store.ClaimParams) (ids []store.ID) {
	e.Helper()
	var due []store.Record
	for _, r := range e.List(store.Filter{States: []store.State{store.Available}}, 1000) {
		if slices.Contains(params.Kinds, r.ClaimKind()) {
			due = append(due, r)
		}
	}
	slices.SortFunc(due, func(a, b store.Record) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.RunAt.Compare(b.RunAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	left := slices.Clone(params.Queues)
	for i := range due {
		at := -1
		if params.Queues != nil {
			if at = store.DemandFor(left, due[i].Queue, due[i].ClaimKind()); at < 0 || left[at].Limit <= 0 {
				continue
			}
		}
		if len(ids) == params.Limit {
			break
		}
		if at >= 0 {
			left[at].Limit--
		}
		ids = append(ids, due[i].ID)
	}
	return ids
}

// by is a demand.
func by(queue, kind string, limit int) store.QueueDemand {
	return store.QueueDemand{Name: queue, Kind: kind, Limit: limit}
}

func demandTable(e *env.Env) {
	demandJobs(e)
	for what, demands := range map[string][]store.QueueDemand{
		"no demand":                            nil,
		"nothing":                              {},
		"a queue":                              {by("a", "", 5)},
		"a kind":                               {by("", "push", 5)},
		"a kind of a version":                  {by("", "bill@v1", 5)},
		"a kind without its version":           {by("", "bill", 5)},
		"a kind in a queue":                    {by("b", "push", 2)},
		"everything":                           {by("", "", 7)},
		"everything, and less of a queue":      {by("", "", 20), by("a", "", 1)},
		"everything, and less of a kind":       {by("push", "", 9), by("", "push", 1), by("", "", 20)},
		"a queue, and less of a kind in it":    {by("a", "", 9), by("a", "send", 2)},
		"a queue, and more of a kind in it":    {by("a", "", 1), by("a", "send", 4)},
		"a queue, and nothing of a kind in it": {by("a", "", 9), by("a", "send", 0)},
		"a queue before a kind":                {by("a", "", 2), by("", "send", 5)},
		"a kind, and nothing of it in a queue": {by("", "send", 9), by("b", "send", 0)},
		"all sorts":                            {by("", "", 3), by("", "send", 2), by("c", "", 4), by("c", "send", 1), by("b", "push", 0)},
		"nothing of anything but one kind":     {by("", "", 0), by("", "bill@v1", 3)},
		"less than nothing":                    {by("", "", 9), by("a", "", -3)},
		"queues and kinds that are not there":  {by("z", "", 9), by("", "none", 9), by("a", "none", 9), by("z", "send", 9)},
		"a queue whose name is that of a kind": {by("send", "", 9), by("", "a", 9)},
		"many, of each one": {
			by("a", "send", 1), by("b", "send", 1), by("c", "send", 1), by("a", "push", 1),
			by("b", "push", 1),
		},
		"a version, and the rest in its queues": {by("a", "bill@v1", 1), by("a", "", 2), by("b", "", 2), by("", "", 1)},
	} {
		for _, limit := range []int{1, 4, 100} {
			node := e.Join()
			params := e.Demand(node, limit)
			params.Kinds, params.Queues = demandKinds, demands
			want := expected(e, params)
			e.WantIDs(fmt.Sprint(what, ", at most ", limit), env.ClaimedIDs(e.ClaimWith(params)), want...)
			e.Leave(node)
			e.Clock.Advance(time.Millisecond)
		}
	}
}

func demandRest(e *env.Env) {
	demandJobs(e)
	node := e.Join()
	for round := range 60 {
		params := e.Demand(node, 5)
		params.Kinds = demandKinds
		params.Queues = []store.QueueDemand{by("", "", round%3), by("a", "", round%2), by("a", "push", (round+1)%4), by("", "send", 1)}
		want := expected(e, params)
		e.WantIDs(fmt.Sprint("round ", round), env.ClaimedIDs(e.ClaimWith(params)), want...)
	}
	e.WantNothing(node)
}

// demandMany: more lanes than a claim looks at closely.
func demandMany(e *env.Env) {
	var demands []store.QueueDemand
	for i := range 120 {
		queue := fmt.Sprint("q", i)
		for range 3 {
			e.Enqueue(e.Job(env.Queue(queue), env.Priority(1+i%4), env.Kind([]string{"send", "push"}[i%2])))
		}
		if i%5 > 0 {
			demands = append(demands, by(queue, []string{"", "send"}[i%3%2], i%4))
		}
	}
	demands = append(demands, by("", "push", 7), by("", "", 30))
	node := e.Join()
	for range 4 {
		params := e.Demand(node, 90)
		params.Queues = demands
		want := expected(e, params)
		got := env.ClaimedIDs(e.ClaimWith(params))
		e.WantIDs("claimed", got, want...)
		if len(got) == 0 {
			e.Fatal("nothing is claimed")
		}
	}
}

func demandAgain(e *env.Env) {
	demandJobs(e)
	node := e.Join()
	params := e.Demand(node, 20)
	params.Kinds, params.Queues = demandKinds, []store.QueueDemand{by("a", "send", 2), by("", "", 1)}
	want := env.ClaimedIDs(e.ClaimWith(params))
	params.Repeat = true
	e.WantIDs("claimed again", env.ClaimedIDs(e.ClaimWith(params)), want...)
	params = e.Demand(node, 20)
	params.Kinds, params.Queues, params.Repeat = demandKinds, []store.QueueDemand{by("a", "send", 2), by("", "", 1)}, true
	rest := expected(e, params)
	e.WantIDs("claimed the first time, as the request was lost", env.ClaimedIDs(e.ClaimWith(params)), rest...)
}

func demandTexts(e *env.Env) {
	for _, name := range []string{`"quoted" \ {}`, "ünï", "0", "null", "a:b"} {
		e.Enqueue(e.Job(env.Queue(name), env.Kind(name)), e.Job(env.Queue(name), env.Kind(name)), e.Job(env.Queue(name), env.Kind("send")))
		node := e.Join()
		for _, d := range []store.QueueDemand{by(name, name, 1), by("", name, 1), by(name, "", 1)} {
			params := e.Demand(node, 10)
			params.Kinds, params.Queues = []string{name, "send"}, []store.QueueDemand{d, by("\x00", "", 9), by("", "\xff", 9)}
			want := expected(e, params)
			e.WantIDs(fmt.Sprintf("%+v", d), env.ClaimedIDs(e.ClaimWith(params)), want...)
			if len(want) != 1 {
				e.Fatalf("%d jobs are to be claimed", len(want))
			}
		}
	}
}
