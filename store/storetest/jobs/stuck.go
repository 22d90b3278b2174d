package jobs

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// stuckKeys returns all stuck keys of a queue, in parts of so many keys that have a job.
func stuckKeys(e *env.Env, queue string, look int) (found []store.StuckKey, parts int) {
	e.Helper()
	params := store.StuckKeysParams{Namespace: env.Namespace, Queue: queue, Look: look}
	for {
		page, err := e.Store.StuckKeys(e.Ctx, params)
		e.NoError("StuckKeys", err)
		found, parts = append(found, page.Keys...), parts+1
		if params.After = page.Next; page.Next == "" {
			return found, parts
		}
	}
}

func stuckListed(e *env.Env) {
	node := e.Join()
	list := func() []store.StuckKey {
		e.Helper()
		found, _ := stuckKeys(e, "mail", 0)
		return found
	}
	first, second := stuck(e, node)
	since := e.Clock.Now()
	want := store.StuckKey{Key: "k", Job: first, Since: since, Reason: store.ReasonError, Waiting: store.Count{N: 1}}
	e.Equal("a job behind it", list(), []store.StuckKey{want}, cmpopts.IgnoreFields(store.StuckKey{}, "Reason"))
	want.Reason = e.Get(first).Reason
	e.Clock.Advance(time.Minute)
	e.Add(inSequence)
	e.Add(inSequence, env.RunAt(e.Clock.Now().Add(time.Hour)))
	others := func(q *store.Enqueue) { q.Job.OrderingKey = "other" }
	run := e.Add(others)
	e.Add(others)
	e.Promote()
	e.ClaimOne(node, run)
	want.Waiting.N = 2
	e.Equal("more behind it, one of them later, and a key with a job that runs", list(), []store.StuckKey{want})
	found, _ := stuckKeys(e, "elsewhere", 0)
	e.Equal("of another queue", found, nil, cmpopts.EquateEmpty())
	page, err := e.Store.StuckKeys(e.Ctx, store.StuckKeysParams{Namespace: env.OtherSpace, Queue: "mail"})
	e.NoError("StuckKeys", err)
	e.Equal("of another namespace", page, store.StuckPage{}, cmpopts.EquateEmpty())
	e.Retry(first)
	e.Equal("when it is retried", list(), nil, cmpopts.EquateEmpty())
	e.End(e.ClaimOne(node, first), store.Completed)
	e.Promote()
	e.End(e.ClaimOne(node, second), store.Failed)
	found = list()
	if len(found) != 1 || found[0].Job != second {
		e.Errorf("when the next one has failed %+v are stuck", found)
	}
	for _, look := range []int{-1, store.MaxStuckLook + 1} {
		_, err := e.Store.StuckKeys(e.Ctx, store.StuckKeysParams{Namespace: env.Namespace, Queue: "mail", Look: look})
		e.WantErr("StuckKeys", err, store.ErrInvalid)
	}
}

// stuckInParts: each part looks at so many keys, stuck or not, and together they have all.
func stuckInParts(e *env.Env) {
	node := e.Join()
	failed := map[string]store.ID{}
	for i := range 7 {
		key := fmt.Sprint("key", i)
		id := e.Add(inSequence, func(q *store.Enqueue) { q.Job.OrderingKey = key })
		e.Promote()
		if run := e.ClaimOne(node, id); i%3 != 1 {
			e.End(run, store.Failed)
			failed[key] = id
		}
	}
	for look, wantParts := range map[int]int{1: 8, 2: 4, 7: 2, 8: 1} {
		found, parts := stuckKeys(e, "mail", look)
		got := map[string]store.ID{}
		for _, k := range found {
			got[k.Key] = k.Job
		}
		if !maps.Equal(got, failed) || len(found) != len(failed) || parts != wantParts {
			e.Errorf("in parts of %d: %v in %d parts, want %v in %d", look, found, parts, slices.Collect(maps.Keys(failed)), wantParts)
		}
	}
}
