package retention

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var jobTests = env.Tests{
	"jobs_go_as_the_class_of_their_queue_says":              byClass,
	"each_state_has_its_own_time_in_a_class":                byState,
	"NoLoss_a_class_that_says_nothing_keeps_as_others":      sayingNothing,
	"a_change_holds_for_jobs_that_have_finished":            changed,
	"a_queue_that_names_none_any_more_is_as_others":         unset,
	"NoLoss_nothing_goes_where_all_is_kept_but_for_a_class": onlyClass,
	"NoLoss_a_job_that_others_need_goes_when_they_do_not":   needed,
	"many_that_others_need_do_not_hold_up_the_rest":         manyNeeded,
	"many_that_others_await_do_not_hold_up_the_rest":        manyAwaited,
	"NoLoss_a_job_that_runs_again_stays":                    retried,
	"jobs_of_another_namespace_go_by_their_own_queue":       elsewhere,
	"removal_in_steps_comes_to_an_end":                      steps,
	"what_is_removed_is_counted":                            counted,
	"what_people_delete_is_not_counted":                     deletedByPeople,
	"counts_are_kept_for_so_long":                           countsGo,
	"a_page_of_counts_has_the_latest":                       countsPaged,
}

// times keeps all that no class says something else of.
var times = store.Retention{Completed: 10 * days, Failed: 20 * days, Cancelled: 10 * days, Limit: 50}

// ended makes a job of a queue that ends in a state.
func ended(e *env.Env, queue string, state store.State) store.ID {
	e.Helper()
	id := e.Add(env.Queue(queue))
	if state == store.Cancelled {
		e.Cancel(id)
	} else {
		e.End(e.ClaimOne(e.Join(), id), state)
	}
	return id
}

// after lets time pass, and what is over go.
func after(e *env.Env, d time.Duration) {
	e.Helper()
	e.Clock.Advance(d)
	e.Retain(times)
}

func kept(e *env.Env, ids ...store.ID) {
	e.Helper()
	for _, id := range ids {
		if !e.Get(id).State.Finished() {
			e.Fatalf("job %v is not finished", id)
		}
	}
}

func byClass(e *env.Env) {
	e.SetRetention(store.RetentionClass{Name: "short", Completed: hour})
	e.SetRetention(store.RetentionClass{Name: "long", Completed: 50 * days})
	e.SetRetention(store.RetentionClass{Name: "ever", Completed: store.KeepForever})
	for _, class := range []string{"short", "long", "ever"} {
		e.NameRetention(class, class)
	}
	ids := map[string]store.ID{}
	for _, queue := range []string{"short", "long", "ever", "other"} {
		ids[queue] = ended(e, queue, store.Completed)
	}
	before := e.Get(ids["ever"])
	after(e, hour-time.Second)
	kept(e, ids["short"])
	after(e, time.Second+env.Slack)
	e.WantGone(ids["short"])
	kept(e, ids["long"], ids["ever"], ids["other"])
	after(e, 10*days)
	e.WantGone(ids["other"])
	kept(e, ids["long"], ids["ever"])
	after(e, 50*days)
	e.WantGone(ids["long"])
	after(e, 5000*days)
	e.Equal("kept for ever", e.Get(ids["ever"]), before)
}

func byState(e *env.Env) {
	e.SetRetention(store.RetentionClass{Name: "mixed", Completed: 40 * days, Failed: 30 * days, Cancelled: hour})
	e.NameRetention("mail", "mixed")
	completed, failed := ended(e, "mail", store.Completed), ended(e, "mail", store.Failed)
	cancelled, other := ended(e, "mail", store.Cancelled), ended(e, "other", store.Cancelled)
	after(e, hour+env.Slack)
	e.WantGone(cancelled)
	kept(e, completed, failed, other)
	after(e, 29*days)
	e.WantGone(other)
	kept(e, completed)
	after(e, days)
	e.WantGone(failed)
	kept(e, completed)
	after(e, 10*days)
	e.WantGone(completed)
}

func sayingNothing(e *env.Env) {
	e.SetRetention(store.RetentionClass{Name: "nothing", Failed: hour})
	e.NameRetention("mail", "nothing")
	completed, failed := ended(e, "mail", store.Completed), ended(e, "mail", store.Failed)
	after(e, hour+env.Slack)
	e.WantGone(failed)
	kept(e, completed)
	after(e, 8*days-2*hour)
	kept(e, completed)
	after(e, 2*days)
	e.WantGone(completed)
}

func changed(e *env.Env) {
	var ids []store.ID
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		ids = append(ids, ended(e, "mail", state))
	}
	after(e, 3*days)
	kept(e, ids...)
	e.SetRetention(store.RetentionClass{Name: "c", Completed: 100 * days, Failed: 100 * days, Cancelled: 100 * days})
	e.NameRetention("mail", "c")
	after(e, 30*days)
	kept(e, ids...)
	e.SetRetention(store.RetentionClass{Name: "c", Completed: hour, Failed: hour, Cancelled: 200 * days})
	after(e, days)
	e.WantGone(ids[0])
	e.WantGone(ids[1])
	kept(e, ids[2])
	e.SetRetention(store.RetentionClass{Name: "soon", Cancelled: days})
	e.NameRetention("mail", "soon")
	after(e, days)
	e.WantGone(ids[2])
}

func unset(e *env.Env) {
	e.SetRetention(store.RetentionClass{Name: "ever", Completed: store.KeepForever})
	e.NameRetention("mail", "ever")
	id := ended(e, "mail", store.Completed)
	after(e, 100*days)
	kept(e, id)
	e.NameRetention("mail", "")
	after(e, days)
	e.WantGone(id)
}

func onlyClass(e *env.Env) {
	e.SetRetention(store.RetentionClass{Name: "short", Completed: hour, Failed: hour, Cancelled: hour})
	e.NameRetention("mail", "short")
	var gone, stay []store.ID
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		gone = append(gone, ended(e, "mail", state))
		stay = append(stay, ended(e, "other", state))
	}
	e.Clock.Advance(hour + env.Slack)
	if n := e.Retain(store.Retention{Limit: 50}); n != len(gone) {
		e.Fatalf("removed %d jobs, want %d", n, len(gone))
	}
	for _, id := range gone {
		e.WantGone(id)
	}
	kept(e, stay...)
}

func needed(e *env.Env) {
	e.SetRetention(store.RetentionClass{Name: "short", Completed: hour, Failed: hour, Cancelled: hour})
	e.NameRetention("mail", "short")
	node := e.Join()
	turn := e.Add(env.Queue("mail"), env.Ordered("k"), func(q *store.Enqueue) { q.Job.Options.KeepTurn = true })
	e.Add(env.Queue("mail"), env.Ordered("k"))
	e.End(e.ClaimOne(node, turn), store.Failed)
	after(e, hour+env.Slack)
	after(e, days)
	e.WantState(turn, store.Failed)
	_, _, err := e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: []store.ID{turn}, Namespace: env.Namespace, Skip: true})
	e.NoError("Cancel", err)
	after(e, hour)
	e.WantGone(turn)
}

// manyNeeded: more jobs are over, and needed, than one Retain may remove. It comes to an end, and
// removes those behind them; and them when they are not needed any more.
func manyNeeded(e *env.Env) {
	e.SetRetention(store.RetentionClass{Name: "short", Failed: hour})
	e.NameRetention("mail", "short")
	const limit = 6
	var turns []store.ID
	for i := range 4 * limit {
		turn := e.Add(env.Queue("mail"), env.Ordered(fmt.Sprint("k", i)), func(q *store.Enqueue) { q.Job.Options.KeepTurn = true })
		e.Add(env.Queue("mail"), env.Ordered(fmt.Sprint("k", i)))
		e.End(e.ClaimOne(e.Join(), turn), store.Failed)
		turns = append(turns, turn)
	}
	e.Clock.Advance(time.Second)
	var rest []store.ID
	for range 2 * limit {
		rest = append(rest, ended(e, "other", store.Failed), ended(e, "mail", store.Failed))
	}
	e.Clock.Advance(hour + env.Slack)
	r := times
	r.Limit = limit
	within := *e
	ctx, cancel := context.WithTimeout(e.Ctx, 2*time.Minute)
	defer cancel()
	within.Ctx = ctx
	n := within.Retain(r)
	kept(e, turns...)
	e.Equal("removed", n, 2*limit)
	for i, id := range rest {
		if i%2 == 1 {
			e.WantGone(id)
		}
	}
	kept(e, turns...)
	_, _, err := e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: turns, Namespace: env.Namespace, Skip: true})
	e.NoError("Cancel", err)
	removed := 0
	for range turns {
		removed += within.Retain(r)
	}
	e.Equal("removed", removed, len(turns))
}

// manyAwaited: more jobs are over than one Retain may remove, and those that come after them have
// not been told yet. The rest behind them goes; and they do when that was told.
func manyAwaited(e *env.Env) {
	const limit = 5
	var awaited, rest []store.ID
	for range 4 * limit {
		run := e.Started()
		e.Add(env.After(run.Job.ID))
		e.End(run, store.Failed)
		awaited = append(awaited, run.Job.ID)
	}
	for range limit {
		rest = append(rest, ended(e, "mail", store.Failed))
	}
	e.Clock.Advance(hour + time.Second)
	r := store.Retention{Failed: hour, Limit: limit}
	e.Equal("removed", e.Retain(r), len(rest))
	for _, id := range rest {
		e.WantGone(id)
	}
	kept(e, awaited...)
	e.CloseChildren(100)
	e.Equal("removed after that was told", e.Retain(r), len(awaited))
}

func retried(e *env.Env) {
	e.SetRetention(store.RetentionClass{Name: "short", Failed: hour, Cancelled: hour})
	e.NameRetention("mail", "short")
	failed, cancelled := ended(e, "mail", store.Failed), ended(e, "mail", store.Cancelled)
	after(e, hour-time.Second)
	e.Retry(failed)
	e.Retry(cancelled)
	after(e, 10*days)
	e.WantState(failed, store.Available)
	e.WantState(cancelled, store.Available)
	e.Cancel(cancelled)
	after(e, hour-time.Second)
	kept(e, cancelled)
	after(e, env.Slack)
	e.WantGone(cancelled)
}

func elsewhere(e *env.Env) {
	e.SetRetention(store.RetentionClass{Name: "short", Cancelled: hour})
	e.NameRetention("mail", "short")
	other := e.Job(func(q *store.Enqueue) { q.Job.Namespace = env.OtherSpace })
	e.Enqueue(other)
	here := e.Add()
	e.Cancel(here)
	e.Cancel(other.Job.ID)
	after(e, hour+env.Slack)
	e.WantGone(here)
	kept(e, other.Job.ID)
	e.Equal("counted here", len(e.Removed("")), 1)
	removed, err := e.Store.Removed(e.Ctx, store.RemovedParams{Namespace: env.OtherSpace, Limit: 10})
	e.NoError("Removed", err)
	e.Equal("counted there", len(removed), 0)
}

// steps: jobs of many times in one state, between each other.
func steps(e *env.Env) {
	const n = 60
	var all [3][]store.ID
	for i, name := range []string{"a", "b", "c"} {
		keep := time.Duration(i+1) * 4 * days
		e.SetRetention(store.RetentionClass{Name: name, Cancelled: keep})
		e.NameRetention(name, name)
	}
	for i := range n {
		id := e.Add(env.Queue(string(rune('a' + i%3))))
		all[i%3] = append(all[i%3], id)
	}
	for i := range n {
		e.Cancel(all[i%3][i/3])
	}
	params := times
	params.Limit = 7
	for i := range 3 {
		e.Clock.Advance(4 * days)
		if i == 0 {
			e.Clock.Advance(env.Slack)
		}
		if got := e.Retain(params); got != n/3 {
			e.Fatalf("removed %d jobs, want %d", got, n/3)
		}
		for j := range all {
			for _, id := range all[j] {
				if j <= i {
					e.WantGone(id)
				} else {
					kept(e, id)
				}
			}
		}
	}
}

func counted(e *env.Env) {
	e.Equal("at first", len(e.Removed("")), 0)
	e.SetRetention(store.RetentionClass{Name: "short", Failed: hour})
	e.NameRetention("other", "short")
	for range 3 {
		ended(e, "mail", store.Completed)
	}
	ended(e, "mail", store.Cancelled)
	ended(e, "other", store.Failed)
	ended(e, "other", store.Failed)
	e.Add()
	after(e, hour+env.Slack)
	first := e.Clock.Now().UTC().Truncate(days)
	failed := store.Removed{Day: first, Queue: "other", State: store.Failed, Jobs: 2}
	e.Equal("of the class", e.Removed(""), []store.Removed{failed})
	after(e, 11*days)
	second := e.Clock.Now().UTC().Truncate(days)
	mail := []store.Removed{
		{Day: second, Queue: "mail", State: store.Completed, Jobs: 3},
		{Day: second, Queue: "mail", State: store.Cancelled, Jobs: 1},
	}
	e.Equal("all", e.Removed(""), append(mail, failed))
	e.Equal("of a queue", e.Removed("mail"), mail)
	e.Equal("of another", e.Removed("other"), []store.Removed{failed})
	e.Equal("of none", len(e.Removed("none")), 0)
	after(e, days)
	e.Equal("once more", e.Removed(""), append(mail, failed))
}

func deletedByPeople(e *env.Env) {
	id := ended(e, "mail", store.Completed)
	_, _, err := e.Store.Delete(e.Ctx, store.DeleteParams{Jobs: []store.ID{id}, Namespace: env.Namespace})
	e.NoError("Delete", err)
	e.WantGone(id)
	after(e, 20*days)
	e.Equal("counted", len(e.Removed("")), 0)
}

func countsGo(e *env.Env) {
	ended(e, "mail", store.Completed)
	after(e, 12*days)
	e.Equal("counted", len(e.Removed("")), 1)
	after(e, store.RemovedKept)
	e.Equal("counted", len(e.Removed("")), 1)
	after(e, days)
	e.Equal("counted", len(e.Removed("")), 0)
}

func countsPaged(e *env.Env) {
	for i := range 3 {
		ended(e, fmt.Sprint("q", i), store.Cancelled)
		ended(e, "mail", store.Cancelled)
		after(e, 12*days)
	}
	for limit := 1; limit < 7; limit++ {
		got, err := e.Store.Removed(e.Ctx, store.RemovedParams{Namespace: env.Namespace, Limit: limit})
		e.NoError("Removed", err)
		e.Equal("a page", got, e.Removed("")[:limit])
	}
	got, err := e.Store.Removed(e.Ctx, store.RemovedParams{Namespace: env.Namespace, Queue: "mail", Limit: 2})
	e.NoError("Removed", err)
	e.Equal("a page of a queue", got, e.Removed("mail")[:2])
	if all := e.Removed(""); len(all) != 6 || !all[0].Day.After(all[2].Day) || all[0].Queue != "mail" || all[1].Queue != "q2" {
		e.Fatalf("counted: %+v", all)
	}
}
