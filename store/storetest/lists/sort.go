package lists

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var sortTests = env.Tests{
	"each_order_has_its_jobs_in_order":                            sortOrders,
	"jobs_of_one_moment_are_in_the_order_of_their_ids":            sortTies,
	"states_that_have_no_place_in_an_order_are_invalid":           sortStates,
	"a_cursor_of_another_order_is_invalid":                        sortCursors,
	"NoLoss_pages_by_id_are_not_disturbed":                        sortWhileChanging,
	"NoLoss_pages_by_the_time_of_the_end_are_not_disturbed":       func(e *env.Env) { sortWhileEnding(e) },
	"NoLoss_pages_by_run_time_show_what_keeps_its_place_once":     func(e *env.Env) { sortWhileMoving(e) },
	"jobs_that_finished_over_a_long_time_are_listed_last_first":   sortLong,
	"jobs_that_finished_before_a_clock_was_set_back_are_not_lost": sortClockBack,
}

// someOfAll makes jobs in all states, with times of many kinds.
func someOfAll(e *env.Env) {
	e.Helper()
	e.Parked(&store.Wait{Until: e.Clock.Now().Add(90 * time.Minute)}, env.Queue("w"))
	e.Held(env.Queue("w"))
	node := e.Join()
	for i := range 18 {
		e.Clock.Advance(time.Duration(1+i*7%5) * time.Second)
		e.Beat(node)
		e.Add(env.Kind("push"), env.Queue([]string{"mail", "b"}[i%2]), env.Attempts(9))
		run := e.ClaimKinds(node, "push")[0]
		e.End(run, env.EndStates[i%len(env.EndStates)], func(o *store.Outcome) { o.Delay = time.Duration(i) * time.Minute })
		if e.Get(run.Job.ID).State == store.Available {
			e.ClaimKinds(node, "push")
		}
		e.Add(env.Delay(time.Duration(i%4)*time.Hour), env.Priority(1+i%4), env.Kind("bill"))
		if i%5 == 0 {
			e.Add(env.Ordered("o"), env.Kind("bill"))
		}
	}
}

func sortOrders(e *env.Env) {
	someOfAll(e)
	all := e.List(store.Filter{}, 1000)
	for _, sort := range store.Sorts {
		for _, f := range []store.Filter{
			{}, {Queues: []string{"b"}}, {Kinds: []string{"push", "send"}}, {Namespace: env.Namespace, Queues: []string{"mail", "w"}},
		} {
			var want []store.Record
			for _, r := range all {
				if sort.States().Has(r.State) && (f.Queues == nil || slices.Contains(f.Queues, r.Queue)) &&
					(f.Kinds == nil || slices.Contains(f.Kinds, r.Kind)) {
					want = append(want, r)
				}
			}
			slices.SortFunc(want, func(a, b store.Record) int { return inOrder(sort, a, b) })
			var ids []store.ID
			for _, r := range want {
				ids = append(ids, r.ID)
			}
			for _, limit := range []int{1, 4, 1000} {
				e.WantIDs(sort.String(), e.Sorted(sort, f, limit), ids...)
			}
		}
	}
}

// inOrder compares two jobs by what Sort says.
func inOrder(sort store.Sort, a, b store.Record) int {
	ids := bytes.Compare(a.ID[:], b.ID[:])
	switch sort {
	case store.SortNewest:
		return -ids
	case store.SortFinished:
		return -cmp.Or(a.FinishedAt.Compare(b.FinishedAt), ids)
	case store.SortRunAt:
		if a.RunAt.IsZero() != b.RunAt.IsZero() {
			return map[bool]int{true: 1, false: -1}[a.RunAt.IsZero()]
		}
		return cmp.Or(a.RunAt.Compare(b.RunAt), ids)
	default:
		return ids
	}
}

func sortTies(e *env.Env) {
	jobs := env.IDsOf(e.Many(7))
	e.WantIDs("by run time", e.Sorted(store.SortRunAt, store.Filter{}, 2), jobs...)
	runs := e.Claim(e.Join(), 7)
	slices.Reverse(runs) // the order of the ends is not that of the ids
	e.EndAll(runs[:3], store.Completed)
	e.EndAll(runs[3:], store.Failed)
	slices.Reverse(jobs)
	for _, limit := range []int{1, 2, 3, 7} {
		e.WantIDs("by the time of the end", e.Sorted(store.SortFinished, store.Filter{}, limit), jobs...)
	}
}

func sortStates(e *env.Env) {
	e.Add()
	for _, sort := range append(slices.Clone(store.Sorts), 99) {
		for _, state := range store.States {
			_, err := e.Store.List(e.Ctx, store.ListParams{Filter: store.Filter{States: []store.State{state}}, Sort: sort, Limit: 1})
			if can := sort <= store.SortFinished && sort.States().Has(state); can != (err == nil) || !can && !errors.Is(err, store.ErrInvalid) {
				e.Errorf("%s jobs by %s: %v", state, sort, err)
			}
		}
	}
}

func sortCursors(e *env.Env) {
	runs := e.Running(4)
	e.EndAll(runs, store.Completed)
	e.Many(4)
	for _, from := range store.Sorts {
		page, err := e.Store.List(e.Ctx, store.ListParams{Sort: from, Limit: 2})
		if err != nil || page.Next == "" {
			e.Fatalf("List by %s: %q, %v", from, page.Next, err)
		}
		for _, to := range store.Sorts {
			_, err := e.Store.List(e.Ctx, store.ListParams{Sort: to, Limit: 2, After: page.Next})
			if from == to {
				e.NoError("List", err)
			} else {
				e.WantErr("a page by "+to.String()+" after one by "+from.String(), err, store.ErrInvalid)
				if says := "the cursor is of a list sorted by " + from.String() + ", not " + to.String(); !strings.HasSuffix(err.Error(), says) {
					e.Errorf("%v, which does not say %q", err, says)
				}
			}
		}
	}
	_, err := e.Store.Count(e.Ctx, store.CountParams{After: "finished.x." + e.IDs.Next().String()})
	e.WantErr("a part of a count after what is no cursor", err, store.ErrInvalid)
}

// pages reads page after page, and calls meanwhile between two of them.
func pages(e *env.Env, params store.ListParams, meanwhile func(page int)) (ids []store.ID) {
	e.Helper()
	for n := range 10_000 {
		page, err := e.Store.List(e.Ctx, params)
		e.NoError("List", err)
		for i := range page.Jobs {
			ids = append(ids, page.Jobs[i].ID)
		}
		if params.After = page.Next; params.After == "" {
			return ids
		}
		meanwhile(n)
	}
	e.Fatal("List never ends")
	return nil
}

// only are those of the ids that are wanted, in their order.
func only(ids, wanted []store.ID) []store.ID {
	return slices.DeleteFunc(slices.Clone(ids), func(id store.ID) bool { return !slices.Contains(wanted, id) })
}

func sortWhileChanging(e *env.Env) {
	for _, sort := range []store.Sort{store.SortNewest, store.SortOldest} {
		want := env.IDsOf(e.Many(20))
		node := e.Join()
		got := pages(e, store.ListParams{Sort: sort, Limit: 3}, func(n int) {
			e.Add(env.Priority(4), env.Delay(time.Duration(n%2)*time.Hour))
			for i, run := range e.Claim(node, 2) {
				e.End(run, []store.State{store.Completed, store.Failed, store.Retryable}[(n+i)%3])
			}
			if n == 2 {
				e.PauseJob(want[19], store.Waiting)
				e.Edit(want[18], store.Edit{Queue: new("elsewhere"), Priority: new(4)}, store.Available)
			}
		})
		if sort == store.SortNewest {
			slices.Reverse(want)
		}
		e.WantIDs(sort.String(), only(got, want), want...)
		e.Leave(node)
	}
}

func sortWhileEnding(e *env.Env) {
	node := e.Join()
	var want []store.ID
	for i := range 20 {
		run := e.ClaimOne(node, e.Add())
		e.End(run, []store.State{store.Completed, store.Failed, store.Cancelled}[i%3])
		want = append(want, run.Job.ID)
		e.Clock.Advance(time.Duration(i%3) * time.Second) // some at one moment
		e.Beat(node)
	}
	slices.Reverse(want)
	retried := want[15]
	got := pages(e, store.ListParams{Sort: store.SortFinished, Limit: 3}, func(n int) {
		e.Clock.Advance(time.Second)
		e.Beat(node)
		e.End(e.ClaimOne(node, e.Add(env.Priority(1))), store.Completed)
		if n == 2 {
			e.Delete(want[18])
			e.End(e.Started(env.Queue("b"), env.Priority(1)), store.Failed)
			e.Retry(retried)
		}
	})
	want = slices.DeleteFunc(want, func(id store.ID) bool { return id == want[18] || id == retried })
	e.WantIDs("by the time of the end", only(got, want), want...)
	if len(got) != len(want) {
		e.Fatalf("%d jobs are listed, want %d: what ended since comes before", len(got), len(want))
	}
}

func sortWhileMoving(e *env.Env) {
	var want []store.ID
	for i := range 20 {
		want = append(want, e.Add(env.Delay(time.Duration(i)*time.Minute)))
	}
	node := e.Join()
	got := pages(e, store.ListParams{Sort: store.SortRunAt, Limit: 3}, func(n int) {
		e.Add(env.Delay(time.Duration(n) * time.Second))
		switch n {
		case 0:
			e.ClaimOne(node, want[0]) // which keeps its run time
		case 1:
			e.Edit(want[17], store.Edit{Queue: new("b")}, store.Scheduled) // so does this
			e.Edit(want[1], store.Edit{RunAt: new(e.Clock.Now().Add(15*time.Minute + time.Second))}, store.Scheduled)
		case 2:
			e.Edit(want[18], store.Edit{RunAt: new(e.Clock.Now().Add(time.Second))}, store.Scheduled)
		}
	})
	stay := slices.DeleteFunc(slices.Clone(want), func(id store.ID) bool { return id == want[1] || id == want[18] })
	e.WantIDs("by run time", only(got, stay), stay...)
	if n := len(only(got, []store.ID{want[1]})); n != 2 {
		e.Fatalf("a job that moved later is listed %d times", n)
	}
	if n := len(only(got, []store.ID{want[18]})); n != 0 {
		e.Fatalf("a job that moved earlier is listed %d times", n)
	}
}

// sortLong: between the ends of jobs may be a moment, and years.
func sortLong(e *env.Env) {
	node := e.Join()
	var want []store.ID
	for _, gap := range []time.Duration{
		time.Microsecond, time.Second, 0, 30 * 24 * time.Hour, time.Minute, 400 * 24 * time.Hour, time.Millisecond,
		1000 * 24 * time.Hour, 0, time.Hour,
	} {
		for range 3 {
			e.Beat(node)
			run := e.ClaimOne(node, e.Add())
			e.End(run, store.Completed)
			want = append(want, run.Job.ID)
			e.Clock.Advance(gap)
		}
	}
	slices.Reverse(want)
	for _, limit := range []int{1, 5, 1000} {
		e.WantIDs("by the time of the end", e.Sorted(store.SortFinished, store.Filter{}, limit), want...)
	}
	since := e.Clock.Now().Add(-1100 * 24 * time.Hour)
	part := e.Sorted(store.SortFinished, store.Filter{FinishedAfter: since, FinishedBefore: since.Add(200 * 24 * time.Hour)}, 2)
	var expect []store.ID
	for _, id := range want {
		if at := e.Get(id).FinishedAt; !at.Before(since) && at.Before(since.Add(200*24*time.Hour)) {
			expect = append(expect, id)
		}
	}
	e.WantIDs("within a time", part, expect...)
}

func sortClockBack(e *env.Env) {
	node := e.Join()
	end := func() store.ID {
		e.Beat(node)
		run := e.ClaimOne(node, e.Add())
		e.End(run, store.Completed)
		return run.Job.ID
	}
	first := end()
	e.Clock.Advance(time.Hour)
	second, third := end(), end()
	e.Clock.Advance(-30 * time.Minute)
	fourth := end()
	for _, limit := range []int{1, 2, 10} {
		e.WantIDs("by the time of the end", e.Sorted(store.SortFinished, store.Filter{}, limit), third, second, fourth, first)
	}
	e.WantIDs("since the clock says", e.Sorted(store.SortFinished, store.Filter{FinishedAfter: e.Clock.Now()}, 10), third, second, fourth)
}
