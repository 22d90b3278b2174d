package operate

import (
	"fmt"
	"math"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var setQueueTests = env.Tests{
	"what_is_set_of_a_queue_is_told_with_when_and_by_whom": setTold,
	"what_is_not_named_stays_as_it_is":                     setParts,
	"the_same_again_changes_nothing":                       setAgain,
	"a_change_of_what_was_read_finds_that_or_does_nothing": setFrom,
	"deleting_a_queue_unsets_all":                          setDeleted,
	"a_queue_of_which_something_is_set_stays":              setStays,
	"a_job_that_is_lost_is_repeated_as_its_queue_says":     setRescued,
	"what_an_edit_says_is_of_the_job":                      setEdited,
	"a_change_is_recorded":                                 setRecorded,
	"Invalid_what_is_set_of_a_queue":                       setInvalid,
}

// tuned wants what is set of the queues of the namespace.
func tuned(e *env.Env, what string, want map[string]store.QueueAttempts) {
	e.Helper()
	got, err := e.Store.AttemptsOfQueues(e.Ctx, env.Namespace)
	e.NoError("AttemptsOfQueues", err)
	if len(want) == 0 && len(got) == 0 {
		return
	}
	e.Equal(what, got, want)
}

func setTold(e *env.Env) {
	tuned(e, "at first", nil)
	e.Add()
	e.Add(env.Queue("other"))
	all := store.AttemptSettings{
		MaxAttempts: 3, Backoff: store.Backoff{Base: time.Second, Cap: time.Minute, Jitter: 0.25}, Timeout: time.Hour, Heartbeat: time.Minute,
	}
	e.Clock.Advance(1500 * time.Nanosecond)
	set := e.SetQueue("mail", all, 0)
	want := store.QueueAttempts{AttemptSettings: all, SetAt: e.Clock.Now().Truncate(time.Microsecond), SetBy: "ada"}
	e.Equal("set", set, want)
	_, err := e.Store.SetQueue(e.Ctx, store.SetQueueParams{Namespace: "other", Queue: "mail", Set: store.AttemptSettings{MaxAttempts: 9}})
	e.NoError("SetQueue", err)
	tuned(e, "set", map[string]store.QueueAttempts{"mail": want})
	e.Equal("the queue", e.Queue("mail").Attempts, want)
	e.Equal("another", e.Queue("other").Attempts, store.QueueAttempts{})
}

func setParts(e *env.Env) {
	e.SetQueue("new", store.AttemptSettings{MaxAttempts: 3, Timeout: time.Hour}, 0)
	e.Equal("queues", e.QueueNames(), []string{"new"})
	e.Clock.Advance(time.Minute)
	set := e.SetQueue("new", store.AttemptSettings{Timeout: time.Minute, Heartbeat: time.Second}, store.SettingBackoff)
	e.Equal("set", set, store.QueueAttempts{
		AttemptSettings: store.AttemptSettings{MaxAttempts: 3, Timeout: time.Minute, Heartbeat: time.Second}, SetAt: e.Clock.Now(), SetBy: "ada",
	})
	set = e.SetQueue("new", store.AttemptSettings{}, store.SettingMaxAttempts|store.SettingHeartbeat)
	e.Equal("set", set.AttemptSettings, store.AttemptSettings{Timeout: time.Minute})
	e.Equal("set", e.SetQueue("new", store.AttemptSettings{}, store.SettingTimeout), store.QueueAttempts{})
	tuned(e, "at last", nil)
}

func setAgain(e *env.Env) {
	first := e.SetQueue("mail", store.AttemptSettings{MaxAttempts: 3}, store.SettingTimeout)
	e.Clock.Advance(time.Minute)
	e.Equal("set", e.SetQueue("mail", store.AttemptSettings{MaxAttempts: 3}, store.SettingTimeout), first)
	e.Equal("the queue", e.Queue("mail").Attempts, first)
}

func setFrom(e *env.Env) {
	from := func(queue string, was store.QueueAttempts, attempts int) (store.QueueAttempts, error) {
		return e.Store.SetQueue(e.Ctx, store.SetQueueParams{
			Namespace: env.Namespace, Queue: queue, Set: store.AttemptSettings{MaxAttempts: attempts}, Actor: "ben", If: &was,
		})
	}
	var nothing store.QueueAttempts
	first, err := from("mail", nothing, 3) // which makes the queue
	e.NoError("SetQueue", err)
	e.Clock.Advance(time.Minute)
	second, err := from("mail", first, 4)
	e.NoError("SetQueue", err)
	for what, was := range map[string]store.QueueAttempts{"nothing": nothing, "what was set before": first} {
		_, err = from("mail", was, 5)
		e.WantErr(what, err, store.ErrConflict)
		again, err := from("mail", was, 4) // as after an answer that was lost
		e.NoError(what, err)
		e.Equal(what, again, second)
	}
	_, err = from("other", first, 5)
	e.WantErr("a queue that is not there", err, store.ErrConflict)
	e.Equal("queues", e.QueueNames(), []string{"mail"})
	e.Equal("the queue", e.Queue("mail").Attempts, second)
}

func setDeleted(e *env.Env) {
	e.SetQueue("mail", store.AttemptSettings{MaxAttempts: 3}, 0)
	deleted(e, "mail")
	e.Equal("queues", e.QueueNames(), nil)
	tuned(e, "of the deleted", nil)
	e.SetQueue("mail", store.AttemptSettings{}, store.SettingMaxAttempts) // which brings it back
	e.Equal("queues", e.QueueNames(), []string{"mail"})
}

func setStays(e *env.Env) {
	node := e.Join()
	e.Used(node, "mail", "other")
	set := e.SetQueue("mail", store.AttemptSettings{MaxAttempts: 3}, 0)
	e.Retire(node)
	e.Retire(node)
	e.Equal("queues", e.QueueNames(), []string{"mail"})
	tuned(e, "set", map[string]store.QueueAttempts{"mail": set})
	e.SetQueue("mail", store.AttemptSettings{}, store.SettingMaxAttempts)
	e.Retire(node)
	e.Equal("queues", e.QueueNames(), nil)
}

// setRescued: the enqueue comes before the queue, the queue before the handler, and that before the
// kind; and what is set applies to the attempts that end from then on.
func setRescued(e *env.Env) {
	handler := store.Policy{MaxAttempts: 9, Delays: []time.Duration{time.Hour}}
	queue := store.AttemptSettings{MaxAttempts: 2, Backoff: store.Backoff{Base: 20 * time.Second, Cap: time.Minute}}
	own := func(q *store.Enqueue) {
		q.Job.MaxAttempts, q.Job.Options.Backoff = 3, store.Backoff{Base: time.Second, Cap: time.Second}
	}
	ofKind := func(q *store.Enqueue) {
		own(q)
		q.Job.Options.OfKind = store.SettingMaxAttempts | store.SettingBackoff
	}
	open := func(q *store.Enqueue) { q.Job.MaxAttempts = 0 }
	for i, c := range []struct {
		job      func(*store.Enqueue)
		queue    store.AttemptSettings
		handler  store.Policy
		attempts int
		wait     time.Duration // after the second one
	}{
		{own, queue, handler, 3, time.Second},
		{open, queue, handler, 2, 0},
		{open, store.AttemptSettings{Backoff: queue.Backoff}, handler, 9, 20 * time.Second},
		{ofKind, store.AttemptSettings{MaxAttempts: 4}, handler, 4, time.Hour},
		{ofKind, store.AttemptSettings{Timeout: time.Second}, store.Policy{MaxAttempts: 4}, 4, time.Second},
		{ofKind, store.AttemptSettings{}, store.Policy{}, 3, time.Second},
	} {
		name := fmt.Sprint("q", i)
		id := e.Add(env.Queue(name), c.job)
		lost := func(attempt int) store.RescuedJob {
			e.Promote()
			run := e.ClaimOne(e.JoinWith(map[string]store.Policy{"send": c.handler}), id)
			if run.Job.Attempt != attempt {
				e.Fatalf("%s: this is attempt %d, want %d", name, run.Job.Attempt, attempt)
			}
			if attempt == 1 && c.queue != (store.AttemptSettings{}) {
				e.SetQueue(name, c.queue, 0) // while it runs
			}
			r := e.Lose(run)
			if r.State == store.Retryable {
				e.Clock.Set(r.RunAt)
			}
			return r
		}
		for attempt := 1; ; attempt++ {
			before := e.Clock.Now()
			r := lost(attempt)
			if attempt == c.attempts {
				e.Equal(name+": the end", r.State, store.Failed)
				break
			}
			e.Equal(name+": the state", r.State, store.Retryable)
			if attempt == 2 && r.RunAt.Sub(before) < c.wait || attempt == 2 && r.RunAt.Sub(before) > c.wait+time.Minute {
				e.Fatalf("%s waits for %v, want about %v", name, r.RunAt.Sub(before), c.wait)
			}
		}
	}
}

func setEdited(e *env.Env) {
	id := e.Add(func(q *store.Enqueue) {
		q.Job.MaxAttempts, q.Job.Options.Timeout = 3, time.Second
		q.Job.Options.OfKind = store.SettingMaxAttempts | store.SettingTimeout
	})
	attempts := 3
	change := store.EditParams{Namespace: env.Namespace, Job: id, Actor: "ada", Edit: store.Edit{MaxAttempts: &attempts}}
	_, _, err := e.Store.Edit(e.Ctx, change)
	e.NoError("Edit", err)
	e.Equal("of the kind", e.Get(id).Options.OfKind, store.SettingTimeout)
}

func setRecorded(e *env.Env) {
	copies, counts := e.Store.(store.Copies) // which counts what was recorded
	if !counts {
		return
	}
	actions := func() int64 {
		survey, err := copies.Survey(e.Ctx)
		e.NoError("Survey", err)
		return survey.Origin.Actions
	}
	e.Add()
	before := actions()
	e.SetQueue("mail", store.AttemptSettings{MaxAttempts: 3}, 0)
	after := actions()
	if after <= before {
		e.Fatalf("actions: %d, and then %d", before, after)
	}
	e.SetQueue("mail", store.AttemptSettings{MaxAttempts: 3}, 0)
	e.Equal("actions after the same again", actions(), after)
}

func setInvalid(e *env.Env) {
	ok, wrong := store.AttemptSettings{MaxAttempts: 1}, func(set store.AttemptSettings) store.SetQueueParams {
		return store.SetQueueParams{Namespace: env.Namespace, Queue: "mail", Set: set}
	}
	for what, p := range map[string]store.SetQueueParams{
		"no queue":                {Namespace: env.Namespace, Set: ok},
		"nothing":                 wrong(store.AttemptSettings{}),
		"an unknown setting":      {Namespace: env.Namespace, Queue: "mail", Unset: 1 << 5},
		"set and unset":           {Namespace: env.Namespace, Queue: "mail", Set: ok, Unset: store.SettingMaxAttempts},
		"negative attempts":       wrong(store.AttemptSettings{MaxAttempts: -1}),
		"too many attempts":       wrong(store.AttemptSettings{MaxAttempts: store.MostAttempts + 1}),
		"a negative timeout":      wrong(store.AttemptSettings{Timeout: -1}),
		"a negative heartbeat":    wrong(store.AttemptSettings{Heartbeat: -1}),
		"a backoff without base":  wrong(store.AttemptSettings{Backoff: store.Backoff{Cap: 1}}),
		"a backoff that falls":    wrong(store.AttemptSettings{Backoff: store.Backoff{Base: 2, Cap: 1}}),
		"jitter that is no share": wrong(store.AttemptSettings{Backoff: store.Backoff{Base: 1, Cap: 1, Jitter: math.NaN()}}),
		"an actor with NUL":       {Namespace: env.Namespace, Queue: "mail", Set: ok, Actor: "a\x00"},
	} {
		_, err := e.Store.SetQueue(e.Ctx, p)
		e.WantErr(what, err, store.ErrInvalid)
	}
	e.Equal("queues", e.QueueNames(), nil)
}
