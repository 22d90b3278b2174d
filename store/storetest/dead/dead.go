package dead

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var groupTests = env.Tests{
	"jobs_that_failed_alike_are_a_group_of_their_kind":     grouped,
	"groups_are_told_in_pages_those_that_grow_first":       inPages,
	"a_group_is_counted_up_to_a_bound":                     bounded,
	"failures_that_no_run_has_reported_are_groups_as_well": unreported,
	"what_is_retried_or_deleted_leaves_its_group":          leaves,
	"any_fingerprint_is_one":                               extremes,
	"a_kind_is_one_whatever_its_jobs_are_bound_to":         ofLanes,
	"what_cannot_be_grouped_is_invalid":                    invalid,
}

func groups(e *env.Env, filter store.Filter) []store.DeadGroup {
	e.Helper()
	filter.Namespace = env.Namespace
	page, err := e.Store.DeadGroups(e.Ctx, store.DeadParams{Filter: filter, Limit: 1000})
	e.NoError("DeadGroups", err)
	if page.Next != "" || page.More {
		e.Fatalf("not all groups: %+v", page)
	}
	return page.Groups
}

func grouped(e *env.Env) {
	node := e.Join()
	at := func() time.Time { e.Clock.Advance(time.Second); return e.Clock.Now() }
	t1 := at()
	failed(e, node, -5, "one", env.Priority(1))
	at()
	failed(e, node, -5, "two", env.Queue("b"))
	t3 := at()
	failed(e, node, -5, "of another kind", env.Kind("bill"))
	t4 := at()
	last := failed(e, node, -5, "three")
	t5 := at()
	other := failed(e, node, 7, "other")
	o := e.InOtherSpace()
	run := o.Started()
	o.End(run, store.Failed)
	got := groups(e, store.Filter{})
	bill := got[2].Job
	reason := store.ReasonTerminal
	kind := e.Get(last).Kind
	want := []store.DeadGroup{
		{
			Kind: kind, Fingerprint: 7, Count: store.Count{N: 1}, Job: other, Reason: reason, Error: "other", FirstSeen: t5, LastSeen: t5,
			Queues: []string{"mail"},
		},
		{
			Kind: kind, Fingerprint: -5, Count: store.Count{N: 3}, Job: last, Reason: reason, Error: "three", FirstSeen: t1, LastSeen: t4,
			Queues: []string{"b", "mail"},
		},
		{
			Kind: "bill", Fingerprint: -5, Count: store.Count{N: 1}, Job: bill, Reason: reason, Error: "of another kind", FirstSeen: t3,
			LastSeen: t3, Queues: []string{"mail"},
		},
	}
	e.Equal("groups", got, want)
	e.Equal("of a kind", groups(e, store.Filter{Kinds: []string{"bill"}}), want[2:])
	e.Equal("of a fingerprint", groups(e, store.Filter{Fingerprints: []int64{7, 8}}), want[:1])
	of := want[1]
	of.Count.N, of.Queues, of.FirstSeen = 2, []string{"mail"}, t1
	e.Equal("of a queue", groups(e, store.Filter{Queues: []string{"mail"}, Fingerprints: []int64{-5}, Kinds: []string{kind}}),
		[]store.DeadGroup{of})
	e.Equal("of no queue", groups(e, store.Filter{Queues: []string{"none"}}), nil, cmpopts.EquateEmpty())
	e.Equal("of a text that no store has", groups(e, store.Filter{Queues: []string{"\x00"}}), nil, cmpopts.EquateEmpty())
}

func inPages(e *env.Env) {
	node := e.Join()
	for i := range 7 {
		failed(e, node, int64(i%6)-2, strconv.Itoa(i))
		e.Clock.Advance(time.Second)
	}
	all := groups(e, store.Filter{})
	if len(all) != 6 || all[0].Error != "6" || all[0].Count.N != 2 || all[5].Error != "1" {
		e.Fatalf("%+v", all)
	}
	for _, limit := range []int{1, 2, 5, 6} {
		var got []store.DeadGroup
		params := store.DeadParams{Filter: store.Filter{Namespace: env.Namespace}, Limit: limit}
		for pages := 1; ; pages++ {
			page, err := e.Store.DeadGroups(e.Ctx, params)
			e.NoError("DeadGroups", err)
			got = append(got, page.Groups...)
			if params.After = page.Next; page.Next == "" {
				if want := (6 + limit - 1) / limit; pages != want {
					e.Fatalf("%d pages of %d groups", pages, limit)
				}
				break
			}
		}
		e.Equal(fmt.Sprintf("in pages of %d", limit), got, all)
	}
}

func bounded(e *env.Env) {
	node := e.Join()
	for i := range 5 {
		failed(e, node, 7, "x", env.Queue([]string{"mail", "b"}[i%2]))
	}
	for most, want := range map[int]store.Count{1: {N: 1, More: true}, 4: {N: 4, More: true}, 5: {N: 5}, 6: {N: 5}, 0: {N: 5}} {
		page, err := e.Store.DeadGroups(e.Ctx, store.DeadParams{Filter: store.Filter{Namespace: env.Namespace}, Limit: 1, Most: most})
		e.NoError("DeadGroups", err)
		e.Equal(fmt.Sprintf("up to %d", most), page.Groups[0].Count, want)
	}
}

func unreported(e *env.Env) {
	node := e.Join()
	first := failed(e, node, 0, "")
	e.Clock.Advance(time.Minute)
	e.Beat(node)
	late := e.Add()
	e.End(e.ClaimOne(node, late), store.Failed, func(o *store.Outcome) { o.Fingerprint = 0; o.Reason = store.ReasonDeadline })
	got := groups(e, store.Filter{})
	if len(got) != 1 || got[0].Fingerprint != 0 || got[0].Count.N != 2 || got[0].Job != late || got[0].Reason != store.ReasonDeadline ||
		!got[0].FirstSeen.Equal(e.Get(first).FinishedAt) {
		e.Fatalf("%+v", got)
	}
	e.Equal("selected", groups(e, store.Filter{Fingerprints: []int64{0}}), got)
	e.Equal("others", groups(e, store.Filter{Fingerprints: []int64{1}}), nil, cmpopts.EquateEmpty())
}

func leaves(e *env.Env) {
	node := e.Join()
	var ids []store.ID
	for range 4 {
		ids = append(ids, failed(e, node, 7, "x"))
		e.Clock.Advance(time.Second)
	}
	want := func(n int, newest, oldest store.ID) {
		e.Helper()
		got := groups(e, store.Filter{})
		if len(got) != 1 || got[0].Count.N != n || got[0].Job != newest || !got[0].LastSeen.Equal(e.Get(newest).FinishedAt) ||
			!got[0].FirstSeen.Equal(e.Get(oldest).FinishedAt) {
			e.Fatalf("%+v, want %d", got, n)
		}
	}
	want(4, ids[3], ids[0])
	e.Retry(ids[3])
	want(3, ids[2], ids[0])
	e.Delete(ids[0])
	want(2, ids[2], ids[1])
	e.End(e.ClaimOne(node, ids[3]), store.Failed, func(o *store.Outcome) { o.Fingerprint = 7 })
	want(3, ids[3], ids[1])
	for _, id := range ids[1:] {
		e.Retry(id)
	}
	e.Equal("when all are gone", groups(e, store.Filter{}), nil, cmpopts.EquateEmpty())
}

// ofLanes: jobs of one kind are in one group, whether they are bound to a version, or have a fair
// key.
func ofLanes(e *env.Env) {
	node := e.Join()
	for _, change := range []func(*store.Enqueue){
		func(*store.Enqueue) {},
		func(q *store.Enqueue) { q.Job.Options.FairKey = "x" },
	} {
		failed(e, node, 7, "x", change)
		e.Clock.Advance(time.Second)
	}
	got := groups(e, store.Filter{})
	if len(got) != 1 || got[0].Count.N != 2 || got[0].Kind != e.Get(got[0].Job).Kind {
		e.Fatalf("%+v", got)
	}
}

func extremes(e *env.Env) {
	node := e.Join()
	for _, n := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
		failed(e, node, n, "x")
		if got := groups(e, store.Filter{Fingerprints: []int64{n}}); len(got) != 1 || got[0].Fingerprint != n {
			e.Fatalf("%d: %+v", n, got)
		}
	}
	if got := groups(e, store.Filter{}); len(got) != 5 {
		e.Fatalf("%+v", got)
	}
}

func invalid(e *env.Env) {
	space := store.Filter{Namespace: env.Namespace}
	for what, p := range map[string]store.DeadParams{
		"no namespace":  {Limit: 1},
		"no limit":      {Filter: space},
		"a large limit": {Filter: space, Limit: 1001},
		"a large bound": {Filter: space, Limit: 1, Most: store.CountBound + 1},
		"a cursor":      {Filter: space, Limit: 1, After: "!"},
		"a short one":   {Filter: space, Limit: 1, After: "AAAA"},
		"tags":          {Filter: store.Filter{Namespace: env.Namespace, Tags: []string{"a"}}, Limit: 1},
		"a state":       {Filter: store.Filter{Namespace: env.Namespace, States: []store.State{store.Failed}}, Limit: 1},
	} {
		_, err := e.Store.DeadGroups(e.Ctx, p)
		e.WantErr(what, err, store.ErrInvalid)
	}
}
