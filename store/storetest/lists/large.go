package lists

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// With more jobs than a store reads and sorts as a whole.
var largeTests = env.Tests{
	"a_large_family_is_selected_too":                           byLargeRoot,
	"few_unfinished_jobs_are_found_beside_many_that_ended":     fewBesideMany,
	"many_unfinished_jobs_are_listed_and_counted":              manyUnfinished,
	"jobs_that_finished_at_one_moment_are_listed_however_many": sortMoment,
	"a_count_is_exact_up_to_its_bound":                         countExactly,
	"many_jobs_are_deleted_at_once":                            deleteMany,
}

// manyMore is more than a store reads and sorts as a whole.
const manyMore = store.CountBound + 50

// addMany enqueues many jobs, a thousand at a time.
func addMany(e *env.Env, n int, change ...func(*store.Enqueue)) (ids []store.ID) {
	e.Helper()
	for len(ids) < n {
		ids = append(ids, env.IDsOf(e.Many(min(1000, n-len(ids)), change...))...)
	}
	return ids
}

func byLargeRoot(e *env.Env) {
	root := e.Started()
	stranger := e.Add(env.Kind("bill"))
	var all []store.ID
	for len(all) < manyMore {
		all = append(all, e.Bear(&root, 1000, env.Kind("push"))...)
	}
	e.WantIDs("the family", e.Sorted(store.SortOldest, store.Filter{Root: root.Job.ID}, 1000), all...)
	e.WantIDs("the children", e.Sorted(store.SortOldest, store.Filter{Parent: root.Job.ID}, 1000), all...)
	if n := e.Count(store.Filter{Root: root.Job.ID}); n != len(all) {
		e.Fatalf("%d descendants are counted, want %d", n, len(all))
	}
	if due := e.Sorted(store.SortRunAt, store.Filter{Parent: root.Job.ID}, 1000); len(due) != len(all) {
		e.Fatalf("%d children are listed by their run time, want %d", len(due), len(all))
	}
	e.WantIDs("the others", e.Sorted(store.SortOldest, store.Filter{NoParent: true}, 1000), root.Job.ID, stranger)
}

// fewBesideMany: fifty that wait, and what failed in a small namespace, are on the first page,
// whatever else there is.
func fewBesideMany(e *env.Env) {
	o := e.InOtherSpace()
	failed := o.Started()
	o.End(failed, store.Failed)
	node := e.Join()
	waits := env.IDsOf(e.Many(50, env.Delay(time.Hour)))
	alone := o.Add(env.Delay(time.Hour))
	for range 2 * manyMore / 1000 {
		e.Many(1000)
		for runs := e.Claim(node, 1000); len(runs) > 0; runs = e.Claim(node, 1000) {
			e.EndAll(runs, store.Completed)
		}
	}
	first := func(what string, f store.Filter, want ...store.ID) {
		e.Helper()
		page, err := e.Store.List(e.Ctx, store.ListParams{Filter: f, Sort: store.SortOldest, Limit: 100})
		e.NoError("List", err)
		var got []store.ID
		for i := range page.Jobs {
			got = append(got, page.Jobs[i].ID)
		}
		if e.WantIDs(what, got, want...); page.Next != "" {
			e.Fatalf("%s: the first page is not the last", what)
		}
		counted, err := e.Store.Count(e.Ctx, store.CountParams{Filter: f})
		if err != nil || counted.N != len(want) || counted.Next != "" {
			e.Fatalf("%s: %+v are counted in the first part, %v; want %d", what, counted, err, len(want))
		}
	}
	scheduled := []store.State{store.Scheduled}
	first("what waits", store.Filter{Namespace: env.Namespace, States: scheduled}, waits...)
	first("what waits of a small namespace", store.Filter{Namespace: env.OtherSpace, States: scheduled}, alone)
	first("what failed in it", store.Filter{Namespace: env.OtherSpace, States: []store.State{store.Failed}}, failed.Job.ID)
	first("what is not completed in it", store.Filter{
		Namespace: env.OtherSpace, States: []store.State{store.Scheduled, store.Failed, store.Cancelled},
	}, failed.Job.ID, alone)
}

// manyUnfinished: of more than are read and sorted as a whole nothing is missing, in any order.
func manyUnfinished(e *env.Env) {
	o := e.InOtherSpace()
	alone := o.Add()
	due := addMany(e, manyMore)
	later := addMany(e, manyMore, env.Delay(time.Hour), env.Queue("b"))
	tagged := e.Add(env.Queue("b"), env.Delay(time.Minute), func(q *store.Enqueue) { q.Job.Tags = []string{"t"} })
	node := e.Join()
	e.ClaimOne(node, due[0])
	state := func(s ...store.State) store.Filter { return store.Filter{Namespace: env.Namespace, States: s} }
	for _, c := range []struct {
		what   string
		filter store.Filter
		want   []store.ID
	}{
		{"available", state(store.Available), due[1:]},
		{"scheduled", state(store.Scheduled), append(slices.Clone(later), tagged)},
		{"both, and running", state(store.Available, store.Scheduled, store.Running), append(slices.Concat(due, later), tagged)},
		{"a queue", store.Filter{
			Queues: []string{"b"}, States: []store.State{store.Scheduled, store.Waiting},
		}, append(slices.Clone(later), tagged)},
		{"one with a tag", store.Filter{States: []store.State{store.Scheduled}, Tags: []string{"t"}}, []store.ID{tagged}},
		{"another namespace", store.Filter{Namespace: env.OtherSpace, States: []store.State{store.Available}}, []store.ID{alone}},
		{"soon", store.Filter{RunAfter: e.Clock.Now().Add(time.Second), RunBefore: e.Clock.Now().Add(time.Hour - 1)}, []store.ID{tagged}},
	} {
		e.WantIDs(c.what, e.Sorted(store.SortOldest, c.filter, 1000), c.want...)
		if n := len(e.Sorted(store.SortRunAt, c.filter, 1000)); n != len(c.want) {
			e.Fatalf("%s: %d are listed by their run time, want %d", c.what, n, len(c.want))
		}
		if n := e.Count(c.filter); n != len(c.want) {
			e.Fatalf("%s: %d are counted, want %d", c.what, n, len(c.want))
		}
	}
}

// sortMoment: a clock that stands still lets all end at one moment.
func sortMoment(e *env.Env) {
	node := e.Join()
	want := addMany(e, manyMore)
	for runs := e.Claim(node, 1000); len(runs) > 0; runs = e.Claim(node, 1000) {
		e.EndAll(runs, store.Completed)
	}
	slices.Reverse(want)
	e.WantIDs("by the time of the end", e.Sorted(store.SortFinished, store.Filter{}, 1000), want...)
	if n := e.Count(store.Filter{States: []store.State{store.Completed}}); n != len(want) {
		e.Fatalf("%d are counted, want %d", n, len(want))
	}
}

// countExactly: a part ends when there are more than the bound, and not before.
func countExactly(e *env.Env) {
	part := func(f store.Filter) store.Counted {
		e.Helper()
		counted, err := e.Store.Count(e.Ctx, store.CountParams{Filter: f})
		e.NoError("Count", err)
		return counted
	}
	addMany(e, store.CountBound-1)
	for _, f := range []store.Filter{{}, {Namespace: env.Namespace}, {States: []store.State{store.Available}}, {Kinds: []string{"send"}}} {
		for n := store.CountBound - 1; n <= store.CountBound; n++ {
			if c := part(f); c.N != n || c.Next != "" {
				e.Fatalf("counted %+v, want %d", c, n)
			}
			if n < store.CountBound {
				e.Add()
			}
		}
		more := e.Add()
		if c := part(f); c.N <= store.CountBound && c.Next == "" || e.Count(f) != store.CountBound+1 {
			e.Fatalf("counted %+v, want more than %d, and %d in all", c, store.CountBound, store.CountBound+1)
		}
		for _, id := range []store.ID{more, e.Sorted(store.SortNewest, store.Filter{}, 1000)[1]} {
			e.Terminate(id)
			e.Delete(id)
		}
	}
}

func deleteMany(e *env.Env) {
	ids := addMany(e, 2500)
	node := e.Join()
	for runs := e.Claim(node, 1000); len(runs) > 0; runs = e.Claim(node, 1000) {
		e.EndAll(runs, store.Completed)
	}
	waits := e.Add()
	for i, r := range e.TryDelete(append(ids, waits)...) {
		if (r.Err == nil) != (i < len(ids)) {
			e.Fatalf("answer %d: %+v", i, r)
		}
	}
	e.WantIDs("left", e.ListIDs(store.Filter{}), waits)
}
