package dead

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var filterTests = env.Tests{
	"failed_jobs_are_selected_by_their_fingerprint": byFingerprint,
	"many_that_are_alike_are_listed_in_every_order": manyAlike,
}

// failed enqueues a job that fails with a fingerprint, 0 for none, and an error.
func failed(e *env.Env, node, fingerprint int64, text string, change ...func(*store.Enqueue)) store.ID {
	e.Helper()
	id := e.Add(change...)
	e.End(e.ClaimOne(node, id), store.Failed, func(o *store.Outcome) { o.Fingerprint, o.Error = fingerprint, text })
	return id
}

// wantListed checks what a filter selects, in every order that failed jobs have.
func wantListed(e *env.Env, what string, f store.Filter, want ...store.ID) {
	e.Helper()
	newest := slices.Clone(want)
	slices.Reverse(newest)
	for _, limit := range []int{1, 2, 1000} {
		e.WantIDs(what+", oldest first", e.Sorted(store.SortOldest, f, limit), want...)
		e.WantIDs(what+", newest first", e.Sorted(store.SortNewest, f, limit), newest...)
		e.WantIDs(what+", by their ends", e.Sorted(store.SortFinished, f, limit), newest...)
	}
	if n := e.Count(f); n != len(want) {
		e.Fatalf("%s: %d jobs are counted, want %d", what, n, len(want))
	}
}

func byFingerprint(e *env.Env) {
	node := e.Join()
	var ids []store.ID
	for i := range 8 {
		queue := env.Queue([]string{"mail", "b"}[i%2])
		ids = append(ids, failed(e, node, []int64{-5, 7, 0, -5}[i%4], "it is broken", queue))
		if i%3 == 0 {
			e.Clock.Advance(time.Millisecond) // others fail at the same moment
		}
	}
	e.End(e.ClaimOne(node, e.Add()), store.Completed)
	e.Cancel(e.Add())
	e.Add()
	alike := func(fingerprints ...int64) store.Filter { return store.Filter{Fingerprints: fingerprints} }
	wantListed(e, "one", alike(-5), ids[0], ids[3], ids[4], ids[7])
	wantListed(e, "another", alike(7), ids[1], ids[5])
	wantListed(e, "none", alike(0), ids[2], ids[6])
	wantListed(e, "two", alike(7, 0), ids[1], ids[2], ids[5], ids[6])
	wantListed(e, "twice the same", alike(7, 7), ids[1], ids[5])
	wantListed(e, "that there is not", alike(8))
	wantListed(e, "in a queue", store.Filter{Fingerprints: []int64{-5}, Queues: []string{"b"}}, ids[3], ids[7])
	wantListed(e, "of some jobs", store.Filter{Fingerprints: []int64{-5}, IDs: ids[3:6]}, ids[3], ids[4])
	ended := []store.State{store.Completed, store.Failed}
	wantListed(e, "of failed ones", store.Filter{Fingerprints: []int64{7}, States: ended}, ids[1], ids[5])
	if n := e.Count(store.Filter{Fingerprints: []int64{7}, States: []store.State{store.Cancelled}}); n != 0 {
		e.Fatalf("%d cancelled jobs have a fingerprint", n)
	}
	since := e.Get(ids[4]).FinishedAt
	wantListed(e, "since a moment", store.Filter{Fingerprints: []int64{-5}, FinishedAfter: since}, ids[4], ids[7])
	wantListed(e, "before it", store.Filter{Fingerprints: []int64{-5}, FinishedBefore: since}, ids[0], ids[3])
	e.Retry(ids[0])
	e.Delete(ids[3])
	wantListed(e, "without those that were retried and deleted", alike(-5), ids[4], ids[7])
	e.End(e.ClaimOne(node, ids[0]), store.Failed, func(o *store.Outcome) { o.Fingerprint = 7 })
	if n := e.Count(alike(7)); n != 3 {
		e.Fatalf("%d jobs are counted, and one of them failed again in another way", n)
	}
}

// manyAlike: more than a store reads and sorts as a whole.
func manyAlike(e *env.Env) {
	const many = store.CountBound + 50
	node := e.Join()
	other := failed(e, node, 7, "it is other")
	var all []store.ID
	for len(all) < many {
		all = append(all, env.IDsOf(e.Many(min(1000, many-len(all))))...)
		for runs := e.Claim(node, 1000); len(runs) > 0; runs = e.Claim(node, 1000) {
			e.EndAll(runs, store.Failed)
		}
	}
	alike := store.Filter{Fingerprints: []int64{-5}}
	e.WantIDs("oldest first", e.Sorted(store.SortOldest, alike, 1000), all...)
	if n := e.Count(alike); n != many {
		e.Fatalf("%d are counted, want %d", n, many)
	}
	byTime := e.Sorted(store.SortFinished, alike, 1000)
	if slices.SortFunc(byTime, env.CompareIDs); !slices.Equal(byTime, all) {
		e.Fatalf("%d are listed by their ends, want %d", len(byTime), many)
	}
	e.WantIDs("the other", e.Sorted(store.SortFinished, store.Filter{Fingerprints: []int64{7}}, 1), other)
	page, err := e.Store.DeadGroups(e.Ctx, store.DeadParams{Filter: store.Filter{Namespace: env.Namespace}, Limit: 10, Most: store.CountBound})
	e.NoError("DeadGroups", err)
	if len(page.Groups) != 2 || page.Groups[0].Count != (store.Count{N: store.CountBound, More: true}) {
		e.Fatalf("%+v", page)
	}
}
