package operate

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var readTests = env.Tests{
	"list_shows_every_job_once_newest_first":                   listAll,
	"list_selects_by_every_field_of_the_filter":                listFilter,
	"list_tells_of_a_job_what_get_tells":                       listLikeGet,
	"NoLoss_a_page_is_not_disturbed_by_what_happens_meanwhile": listWhileChanging,
	"a_cursor_that_is_none_is_invalid":                         listGarbage,
	"a_page_has_a_limit":                                       listLimit,
	"an_empty_list_of_a_filter_selects_everything":             listEmpty,
	"ended_tells_the_outcomes_of_finished_jobs_only":           endedTells,
	"long_lists_of_ids_are_answered_as_a_whole":                longLists,
	"a_store_describes_itself":                                 traits,
	"watch_ends_with_its_context":                              watchEnds,
}

// oneOfEach makes jobs in every state that the contract can bring about, and returns them oldest
// first.
func oneOfEach(e *env.Env) []store.ID {
	e.Helper()
	var ids []store.ID
	node := e.Join()
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled, store.Retryable, store.Scheduled} {
		id := e.Add(func(q *store.Enqueue) { q.Job.Tags = []string{"x", state.String()} })
		ids = append(ids, id)
		run := e.ClaimOne(node, id)
		e.Clock.Advance(time.Second)
		e.Save(run, store.Checkpoint{Percent: 10, Message: "m", Value: []byte(`[1]`)})
		e.End(run, state)
	}
	never := e.Add(env.Queue("b"), env.Delay(time.Hour))
	e.Cancel(never)
	running := e.ClaimOne(node, e.Add(env.Kind("push"))).Job.ID
	asked := e.ClaimOne(node, e.Add(env.Unique("k"))).Job.ID
	e.Cancel(asked)
	ids = append(ids, never, running, asked, e.Add(env.Ordered("o"), env.Queue("b")), e.Add(env.Ordered("o"), env.Queue("b")),
		e.Add(env.Delay(time.Hour), env.Priority(1)),
		e.Add(env.Queue("b"), env.Kind("push"), func(q *store.Enqueue) { q.Job.Tags = []string{"x", "y"} }))
	e.Promote()
	return ids
}

func reversed(ids []store.ID) []store.ID {
	ids = slices.Clone(ids)
	slices.Reverse(ids)
	return ids
}

func listAll(e *env.Env) {
	if len(e.List(store.Filter{}, 10)) != 0 {
		e.Fatal("a new store lists jobs")
	}
	ids := reversed(oneOfEach(e))
	for _, limit := range []int{1, 2, 5, len(ids), 1000} {
		var got []store.ID
		for _, r := range e.List(store.Filter{}, limit) {
			got = append(got, r.ID)
		}
		e.WantIDs("listed", got, ids...)
	}
}

// listFilter compares each filter with a filter in Go over all jobs.
func listFilter(e *env.Env) {
	oneOfEach(e)
	e.Add(env.In("other"))
	all := e.List(store.Filter{}, 100)
	filters := []store.Filter{
		{Namespace: env.Namespace},
		{Namespace: "other"},
		{Namespace: "none"},
		{Queues: []string{"b"}},
		{Queues: []string{"mail", "b"}},
		{Queues: []string{"none"}},
		{Kinds: []string{"push"}},
		{Kinds: []string{"push", "none"}},
		{Tags: []string{"x"}},
		{Tags: []string{"y", "x"}},
		{Tags: []string{"x", "none"}},
		{States: []store.State{store.Failed, store.Cancelled}},
		{States: store.States},
		{States: []store.State{store.Waiting}},
		{Namespace: env.Namespace, Queues: []string{"b"}, Kinds: []string{"push"}, Tags: []string{"x"}, States: []store.State{store.Available}},
		{Queues: []string{"b"}, States: []store.State{store.Cancelled, store.Available}},
	}
	for _, state := range store.States {
		filters = append(filters, store.Filter{States: []store.State{state}})
	}
	for _, f := range filters {
		var want []store.Record
		for _, r := range all {
			if selects(f, r) {
				want = append(want, r)
			}
		}
		for _, limit := range []int{2, 100} {
			e.Equal("listed", e.List(f, limit), want)
		}
	}
}

func selects(f store.Filter, r store.Record) bool {
	for _, tag := range f.Tags {
		if !slices.Contains(r.Tags, tag) {
			return false
		}
	}
	return (f.Namespace == "" || f.Namespace == r.Namespace) &&
		(f.States == nil || slices.Contains(f.States, r.State)) &&
		(f.Queues == nil || slices.Contains(f.Queues, r.Queue)) &&
		(f.Kinds == nil || slices.Contains(f.Kinds, r.Kind))
}

func listLikeGet(e *env.Env) {
	oneOfEach(e)
	listed := e.List(store.Filter{}, 100)
	for _, r := range listed {
		e.Equal("listed job", r, e.Get(r.ID), cmpopts.IgnoreFields(store.Record{}, "Result", "Build", "Attempts", "Actions"))
	}
}

// listWhileChanging: a job that is there from the first page to the last is listed exactly once,
// whatever is enqueued and finished between two pages.
func listWhileChanging(e *env.Env) {
	want := env.IDsOf(e.Many(20))
	node := e.Join()
	params := store.ListParams{Limit: 3}
	var got []store.ID
	for {
		page, err := e.Store.List(e.Ctx, params)
		e.NoError("List", err)
		for _, r := range page.Jobs {
			got = append(got, r.ID)
		}
		e.Add(env.Priority(4))
		for _, run := range e.Claim(node, 2) {
			e.End(run, store.Completed)
		}
		if params.After = page.Next; params.After == "" {
			break
		}
	}
	e.WantIDs("listed", got, reversed(want)...)
}

// listGarbage: a cursor comes back from outside, so anything may be in it.
func listGarbage(e *env.Env) {
	e.Enqueue(e.Job(), e.Job(), e.Job())
	page, err := e.Store.List(e.Ctx, store.ListParams{Limit: 1})
	if err != nil || page.Next == "" {
		e.Fatalf("List: next %q, %v", page.Next, err)
	}
	for _, cursor := range []string{
		"x", " ", "0", "-1", "\x00", "\xff\xfe", "'; DROP TABLE job; --", "null", "{}", "00000000", strings.Repeat("A", 100_000),
		page.Next + "x", "x" + page.Next, page.Next[:len(page.Next)-1], page.Next + page.Next,
		base64.RawURLEncoding.EncodeToString([]byte("garbage")), hex.EncodeToString([]byte("garbage")),
	} {
		if _, err := e.Store.List(e.Ctx, store.ListParams{Limit: 1, After: cursor}); !errors.Is(err, store.ErrInvalid) {
			e.Fatalf("a page after %.100q: %v, want ErrInvalid", cursor, err)
		}
	}
	// Drawn cursors contain pieces of a real one. A cursor that happens to be valid may answer; the
	// others must be ErrInvalid.
	rapid.Check(e.T, func(t *rapid.T) {
		cursor := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune(page.Next+"-=_+/ "))),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.Map(rapid.SliceOf(rapid.Byte()), base64.RawURLEncoding.EncodeToString),
			rapid.Map(rapid.SliceOf(rapid.Byte()), base64.StdEncoding.EncodeToString),
			rapid.Map(rapid.SliceOf(rapid.Byte()), hex.EncodeToString)).Draw(t, "cursor")
		if _, err := e.Store.List(e.Ctx, store.ListParams{Limit: 1, After: cursor}); err != nil && !errors.Is(err, store.ErrInvalid) {
			t.Fatalf("a page after %q: %v, want ErrInvalid", cursor, err)
		}
	})
}

func endedTells(e *env.Env) {
	ids := oneOfEach(e)
	unknown := e.IDs.Next()
	got := e.Ended(append(slices.Clone(ids), unknown)...)
	var want []store.Ended
	for _, id := range ids {
		if r := e.Get(id); r.State.Finished() {
			end := store.Ended{ID: id, State: r.State, Reason: r.Reason, Result: r.Result, Codec: r.Codec}
			if r.State != store.Completed {
				end.Error = r.Error
			}
			want = append(want, end)
		}
	}
	want = append(want, store.Ended{ID: unknown})
	e.Equal("ended", got, want)
	if len(want) != 5 {
		e.Fatalf("%d jobs have ended, want 5 with the unknown one", len(want))
	}
	if got := e.Ended(); len(got) != 0 {
		e.Fatalf("of no jobs %d ended", len(got))
	}
}

// longLists: databases bound the number of parameters of a statement, and people select everything.
func longLists(e *env.Env) {
	const n = 2500
	var ids []store.ID
	for len(ids) < n {
		jobs := e.Many(min(e.Store.Traits().MaxBatch, 500))
		ids = append(ids, env.IDsOf(jobs)...)
	}
	for _, state := range e.Cancel(ids...) {
		if state != store.Cancelled {
			e.Fatalf("cancel says %v", state)
		}
	}
	if ended := e.Ended(ids...); len(ended) != len(ids) {
		e.Fatalf("%d of %d jobs have ended", len(ended), len(ids))
	}
	results, _, err := e.Store.Retry(e.Ctx, store.RetryParams{Jobs: ids, Actor: "ada"})
	if err != nil || len(results) != len(ids) {
		e.Fatalf("Retry: %d results, %v", len(results), err)
	}
	for i, r := range results {
		if r.Job != ids[i] || r.State != store.Available || r.Err != nil {
			e.Fatalf("Retry answers %+v", r)
		}
	}
	// Reading: a store may bound what one claim takes; who wants more asks again.
	node := e.Join()
	var claimed []store.ID
	for len(claimed) < len(ids) {
		runs := e.ClaimWith(e.Demand(node, 500))
		if len(runs) == 0 {
			break
		}
		claimed = append(claimed, env.ClaimedIDs(runs)...)
	}
	e.WantIDs("claimed", claimed, ids...)
}

func traits(e *env.Env) {
	t := e.Store.Traits()
	if t.Name == "" || t.MaxBatch < 1 {
		e.Fatalf("traits: %+v", t)
	}
}

func watchEnds(e *env.Env) {
	ctx, cancel := context.WithCancel(e.Ctx)
	done := make(chan error, 1)
	go func() { done <- e.Store.Watch(ctx, func(store.Wake) {}) }()
	// Notify never waits for anybody, watched or not.
	for range 1000 {
		e.Store.Notify(store.Wake{Kind: store.WakeReady, Namespace: env.Namespace, Queue: "mail"}, store.Wake{Kind: store.WakeAll})
	}
	e.Store.Notify()
	cancel()
	if err := <-done; err != nil {
		e.Fatalf("Watch ended with %v", err)
	}
}

func listLimit(e *env.Env) {
	e.Enqueue(e.Job(), e.Job(), e.Job())
	for _, limit := range []int{-1, 0, 1001} {
		_, err := e.Store.List(e.Ctx, store.ListParams{Limit: limit})
		e.WantErr("a page without a limit", err, store.ErrInvalid)
	}
	for _, limit := range []int{1, 2, 3, 1000} {
		page, err := e.Store.List(e.Ctx, store.ListParams{Limit: limit})
		if err != nil || len(page.Jobs) != min(limit, 3) {
			e.Fatalf("a page of %d has %d jobs, %v", limit, len(page.Jobs), err)
		}
	}
}

func listEmpty(e *env.Env) {
	run := e.Durable(2)
	all := e.ListIDs(store.Filter{})
	empty := store.Filter{States: []store.State{}, Queues: []string{}, Kinds: []string{}, Tags: []string{}}
	e.WantIDs("listed", e.ListIDs(empty), all...)
	// An empty list of entry kinds, or of queues to claim from, selects nothing.
	page, err := e.Store.Entries(e.Ctx, store.JournalParams{Job: run.Job.ID, Kinds: []store.EntryKind{}, Limit: 10})
	if err != nil || len(page) != 0 {
		e.Fatalf("entries of no kind: %+v, %v", page, err)
	}
	e.Add()
	params := e.Demand(run.Lease.Node, 10)
	params.Queues = []store.QueueDemand{}
	if claimed := e.ClaimWith(params); len(claimed) != 0 {
		e.Fatalf("claimed from no queue: %v", env.ClaimedIDs(claimed))
	}
}
