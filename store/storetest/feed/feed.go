package feed

import (
	"errors"
	"math"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var feedTests = env.Tests{
	"nothing_is_told_while_it_is_off":                       off,
	"it_begins_with_nothing_and_ends_with_nothing":          lives,
	"all_states_of_a_job_are_told":                          statesOfAJob,
	"a_change_says_whose_it_is_and_why":                     says,
	"a_job_that_starts_with_its_enqueue_is_told_as_running": starting,
	"what_dead_nodes_leave_is_told":                         rescued,
	"messages_that_wake_are_told_as_the_job_goes_on":        woken,
	"jobs_after_others_are_told_as_they_wait_and_go_on":     after,
	"children_that_are_closed_with_their_parent_are_told":   closed,
	"jobs_of_one_call_are_told_one_by_one":                  many,
	"all_namespaces_are_told":                               spaces,
	"what_people_do_is_told":                                people,
	"jobs_that_wait_for_their_turn_are_available":           turns,
	"a_job_that_is_gone_has_no_queue":                       gone,
}

var fromTheBeginning store.FeedPosition

func off(e *env.Env) {
	status, err := e.Store.FeedStatus(e.Ctx)
	e.NoError("FeedStatus", err)
	e.Equal("the status", status, store.FeedStatus{})
	e.NoError("OrderFeed", e.Store.OrderFeed(e.Ctx))
	e.Add()
	if _, err := e.Store.ReadFeed(e.Ctx, store.FeedParams{Limit: 1}); !errors.Is(err, store.ErrFeedOff) || !errors.Is(err, store.ErrConflict) {
		e.Fatalf("ReadFeed while it is off: %v", err)
	}
	e.Tell(true)
	if all, _ := e.Changes(fromTheBeginning); len(all) > 0 {
		e.Fatalf("told of what was before: %+v", all)
	}
	for _, limit := range []int{0, -1, store.FeedMost + 1} {
		if _, err := e.Store.ReadFeed(e.Ctx, store.FeedParams{Limit: limit}); !errors.Is(err, store.ErrInvalid) {
			e.Fatalf("ReadFeed of %d changes: %v", limit, err)
		}
	}
}

func lives(e *env.Env) {
	first := e.Tell(true)
	if !first.On || first.Since.IsZero() || first.Newest != first.Oldest || first.Newest.Count != 0 || first.Newest.Life == 0 {
		e.Fatalf("switched on: %+v", first)
	}
	e.Add()
	if again := e.Tell(true); again.Newest.Life != first.Newest.Life {
		e.Fatalf("switched on again: %+v, was %+v", again, first)
	}
	changes, next := e.Changes(fromTheBeginning)
	e.WantDense(changes, first.Newest)
	if len(changes) != 1 || next.Life != first.Newest.Life || next.Count != 1 {
		e.Fatalf("one job was enqueued: %+v, then %v", changes, next)
	}
	e.Equal("after the last change", e.Tell(true).Newest, next)
	e.Equal("switched off", e.Tell(false), store.FeedStatus{})
	e.Tell(false)
	e.Add()
	e.Clock.Advance(time.Second)
	second := e.Tell(true)
	if second.Newest.Life == first.Newest.Life || second.Newest.Count != 0 {
		e.Fatalf("switched on anew: %+v, was %+v", second, first)
	}
	_, err := e.Store.ReadFeed(e.Ctx, store.FeedParams{After: next, Limit: 1})
	if reset, ok := errors.AsType[*store.FeedResetError](err); !ok || !errors.Is(err, store.ErrFeedReset) ||
		reset.After != next || reset.Newest != second.Newest || reset.Oldest != second.Oldest {
		e.Fatalf("a position of another life: %v", err)
	}
	for _, count := range []int64{1, math.MaxInt64 - 1000, math.MaxInt64} {
		later := store.FeedPosition{Life: second.Newest.Life, Count: count}
		if _, err := e.Store.ReadFeed(e.Ctx, store.FeedParams{After: later, Limit: 1000}); !errors.Is(err, store.ErrFeedReset) {
			e.Fatalf("position %d after the last change: %v", count, err)
		}
	}
	if all, _ := e.Changes(second.Newest); len(all) > 0 {
		e.Fatalf("told: %+v", all)
	}
}

func statesOfAJob(e *env.Env) {
	e.Tell(true)
	node := e.Join()
	id := e.Add(env.Delay(time.Minute), env.Attempts(5))
	e.Clock.Advance(time.Minute)
	e.Beat(node)
	e.Promote()
	e.End(e.ClaimOne(node, id), store.Retryable)
	e.Clock.Advance(time.Hour)
	e.Beat(node)
	e.Promote()
	e.End(e.ClaimOne(node, id), store.Available)
	e.End(e.ClaimOne(node, id), store.Scheduled)
	e.Clock.Advance(time.Hour)
	e.Beat(node)
	e.Promote()
	e.End(e.ClaimOne(node, id), store.Completed)
	e.WantTold(id, store.Scheduled, store.Available, store.Running, store.Retryable, store.Available, store.Running, store.Available,
		store.Running, store.Scheduled, store.Available, store.Running, store.Completed)
}

func says(e *env.Env) {
	e.Tell(true)
	id := e.Add(env.Queue("mail"), env.Kind("send"))
	other := e.Add(env.Queue("mail"), env.Kind("push"))
	run := e.ClaimRuns(e.Join(), "send", "push")
	e.EndAll([]store.Claimed{run[other]}, store.Completed)
	e.End(run[id], store.Failed)
	changes, _ := e.Changes(fromTheBeginning)
	e.WantDense(changes, fromTheBeginning)
	found := 0
	for _, c := range changes {
		kind := map[store.ID]string{id: "send", other: "push"}[c.Job]
		if c.Namespace != env.Namespace || c.Queue != "mail" || c.Kind != kind {
			e.Fatalf("a change: %+v", c)
		}
		switch {
		case c.State == store.Failed:
			found++
			e.Equal("why it failed", c.Reason, e.Get(id).Reason)
			e.Equal("like what", c.Fingerprint, e.Get(id).Fingerprint)
		case c.Reason != "" || c.Fingerprint != 0:
			e.Fatalf("a change with a reason: %+v", c)
		}
	}
	e.Equal("changes to failed", found, 1)
	// A job that runs again is in no group.
	e.Retry(id)
	changes, _ = e.Changes(fromTheBeginning)
	for _, c := range changes {
		if c.Fingerprint != 0 {
			e.Fatalf("a change of a job that does not stand as failed: %+v", c)
		}
	}
}

func starting(e *env.Env) {
	e.Tell(true)
	run := e.StartNow(e.Join(), e.Job())[0]
	e.WantTold(run.Job.ID, store.Running)
	e.End(run, store.Completed)
	e.WantTold(run.Job.ID, store.Running, store.Completed)
}

func rescued(e *env.Env) {
	e.Tell(true)
	run := e.ClaimOne(e.Join(), e.Add(env.Attempts(5)))
	e.Lose(run)
	e.WantTold(run.Job.ID, store.Available, store.Running, store.Retryable)
	e.Terminate(run.Job.ID)
	left := e.Join()
	run = e.ClaimOne(left, e.Add())
	e.Leave(left)
	e.WantTold(run.Job.ID, store.Available, store.Running, store.Available)
}

func woken(e *env.Env) {
	e.Tell(true)
	id := e.Parked(env.ForSignals()).Job.ID
	e.WantTold(id, store.Available, store.Running, store.Waiting)
	e.Send(id, env.Signal("s"))
	e.WantTold(id, store.Available, store.Running, store.Waiting, store.Available)
}

func after(e *env.Env) {
	e.Tell(true)
	first := e.Add()
	id, lost := e.Add(env.After(first)), e.Add(env.After(e.Add(env.Delay(time.Hour))))
	waits := e.StatesTold(id)
	if n := len(waits); n == 0 || waits[n-1] != store.Waiting {
		e.Fatalf("told of a job that waits for another: %v", waits)
	}
	before, at := e.Changes(fromTheBeginning)
	e.End(e.ClaimOne(e.Join(), first), store.Completed)
	e.CloseChildren(10)
	e.Terminate(lost)
	e.Equal("then", e.StatesTold(id), append(waits, store.Available))
	e.Equal("states of the other", e.StatesTold(lost), append(env.StatesOf(before, lost), store.Cancelled))
	changes, _ := e.Changes(at)
	ended := 0
	for _, c := range changes {
		if c.Job == first && c.State == store.Completed {
			ended++
		}
		if c.Job == id && c.State == store.Available && ended == 0 {
			e.Fatal("it went on before that had ended after which it comes")
		}
	}
}

func closed(e *env.Env) {
	e.Tell(true)
	run := e.Durable(1)
	child := e.Bear(&run, 1)[0]
	e.End(run, store.Failed, env.WithChildren)
	e.CloseChildren(10)
	e.WantTold(run.Job.ID, store.Available, store.Running, store.Failed)
	e.WantTold(child, store.Available, store.Cancelled)
	changes, _ := e.Changes(fromTheBeginning)
	e.WantDense(changes, fromTheBeginning)
	running := false
	for _, c := range changes {
		running = running || c.Job == run.Job.ID && c.State == store.Running
		if c.Job == child && !running {
			e.Fatal("a child is there before its parent runs")
		}
	}
}

func many(e *env.Env) {
	e.Tell(true)
	node := e.Join()
	enqueues := e.Many(250)
	e.Enqueue(enqueues...)
	runs := e.Claim(node, 250)
	e.Equal("runs", len(runs), 250)
	e.EndAll(runs, store.Completed)
	changes, next := e.Changes(fromTheBeginning)
	e.WantDense(changes, fromTheBeginning)
	e.Equal("changes", len(changes), 750)
	for _, q := range enqueues {
		e.Equal("states", env.StatesOf(changes, q.Job.ID), []store.State{store.Available, store.Running, store.Completed})
	}
	for _, at := range []int64{0, 1, 99, 249, 250, 251, 600, 749, 750} { // also in the middle of a statement
		after := store.FeedPosition{Life: next.Life, Count: at}
		page, err := e.Store.ReadFeed(e.Ctx, store.FeedParams{After: after, Limit: 7})
		e.NoError("ReadFeed", err)
		n := min(7, 750-at)
		e.Equal("a page", page.Changes, append([]store.Change(nil), changes[at:at+n]...))
		if page.More != (at+n < 750) || page.Next.Count != at+n {
			e.Fatalf("the page after %v: more %v, next %v", after, page.More, page.Next)
		}
	}
}

func spaces(e *env.Env) {
	e.Tell(true)
	e.Add()
	e.InOtherSpace().Add()
	changes, _ := e.Changes(fromTheBeginning)
	if len(changes) != 2 || changes[0].Namespace != env.Namespace || changes[1].Namespace != env.OtherSpace {
		e.Fatalf("told: %+v", changes)
	}
}

func people(e *env.Env) {
	e.Tell(true)
	ended := e.ClaimOne(e.Join(), e.Add())
	cancelled, paused := e.Add(), e.Add()
	e.Cancel(cancelled)
	e.WantTold(cancelled, store.Available, store.Cancelled)
	e.Retry(cancelled)
	e.WantTold(cancelled, store.Available, store.Cancelled, store.Available)
	e.PauseJob(paused, store.Waiting)
	e.Resume(env.Resumption(paused), store.Available)
	e.WantTold(paused, store.Available, store.Waiting, store.Available)
	e.Cancel(ended.Job.ID)
	e.WantTold(ended.Job.ID, store.Available, store.Running)
	e.Terminate(ended.Job.ID)
	e.WantTold(ended.Job.ID, store.Available, store.Running, store.Cancelled)
	e.Delete(ended.Job.ID)
	e.Terminate(cancelled, paused)
	fork := e.Durable(3)
	copied := e.Fork(fork.Job.ID, 2)
	e.WantTold(copied, store.Available)
}

func turns(e *env.Env) {
	e.Tell(true)
	node := e.Join()
	first, second := e.Add(env.Ordered("k")), e.Add(env.Ordered("k"))
	e.Promote()
	e.End(e.ClaimOne(node, first), store.Completed)
	e.Promote()
	e.ClaimOne(node, second)
	e.WantTold(first, store.Available, store.Running, store.Completed)
	e.WantTold(second, store.Available, store.Running)
}

func gone(e *env.Env) {
	e.Tell(true)
	run := e.ClaimOne(e.Join(), e.Add())
	e.End(run, store.Completed)
	e.Delete(run.Job.ID)
	changes, _ := e.Changes(fromTheBeginning)
	if len(changes) != 3 || changes[2].State != store.Completed || changes[2].Job != run.Job.ID || changes[2].Queue != "" {
		e.Fatalf("told: %+v", changes)
	}
}
