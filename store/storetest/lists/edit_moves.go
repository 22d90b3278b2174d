package lists

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var editMovesTests = env.Tests{
	"Order_a_job_that_changes_its_lane_keeps_its_place_in_time":        editLane,
	"Order_a_job_that_is_due_now_is_behind_those_that_are":             editDueNow,
	"EveryDueThingHappens_a_job_that_is_put_off_or_called_is_due_then": editDue,
	"EveryDueThingHappens_a_job_that_waits_is_woken_in_its_queue":      editWaiting,
	"EveryDueThingHappens_the_deadline_of_one_that_waits_wakes_it":     editDeadline,
	"EveryDueThingHappens_nodes_are_told_of_what_may_run":              editTold,
	"Order_a_turn_is_kept_in_its_queue_and_given_up_with_it":           editTurn,
	"Order_a_job_in_the_line_of_its_key_moves_in_it":                   editLine,
	"a_job_that_is_held_goes_on_as_it_was_changed":                     editHeld,
	"a_job_keeps_its_unique_key_in_another_queue":                      editUniqueQueue,
	"NoLoss_a_job_that_is_changed_over_and_over_runs_once":             editOften,
	"queues_know_of_jobs_that_were_moved_to_them":                      editQueues,
}

func editLane(e *env.Env) {
	var ids []store.ID
	for range 5 {
		ids = append(ids, e.Add())
		e.Clock.Advance(time.Second)
	}
	moved := e.Add(env.Queue("b"), env.RunAt(e.Get(ids[2]).RunAt.Add(time.Millisecond)))
	e.Edit(moved, store.Edit{Queue: new("mail")}, store.Available)
	e.Edit(ids[4], store.Edit{Priority: new(1)}, store.Available)
	e.Edit(ids[3], store.Edit{Priority: new(1)}, store.Available)
	e.Edit(ids[0], store.Edit{Priority: new(4)}, store.Available)
	node := e.Join()
	for _, id := range []store.ID{ids[3], ids[4], ids[1], ids[2], moved, ids[0]} {
		e.ClaimOne(node, id)
	}
}

func editDueNow(e *env.Env) {
	first, second := e.Add(), e.Add(env.Delay(time.Hour))
	e.Clock.Advance(time.Second)
	third := e.Add()
	e.Clock.Advance(time.Second)
	// A run time in the past is now.
	for _, id := range []store.ID{first, second} {
		if got := e.Edit(id, store.Edit{RunAt: new(e.Clock.Now().Add(-time.Hour))}, store.Available); !got.RunAt.Equal(e.Clock.Now()) {
			e.Fatalf("the job is due at %v, now it is %v", got.RunAt, e.Clock.Now())
		}
	}
	node := e.Join()
	for _, id := range []store.ID{third, first, second} {
		e.ClaimOne(node, id)
	}
}

func editDue(e *env.Env) {
	node := e.Join()
	id := e.Add()
	later := e.Clock.Now().Add(time.Minute)
	if got := e.Edit(id, store.Edit{RunAt: &later}, store.Scheduled); !got.RunAt.Equal(later) {
		e.Fatalf("the job is due at %v, want %v", got.RunAt, later)
	}
	e.WantNothing(node)
	e.Edit(id, store.Edit{RunAt: new(later.Add(time.Minute))}, store.Scheduled)
	e.Later(node, time.Minute)
	e.WantNothing(node)
	e.Later(node, time.Minute)
	run := e.ClaimOne(node, id)
	// One that is to be retried stays so, however late.
	e.End(run, store.Retryable)
	e.Edit(id, store.Edit{RunAt: new(e.Clock.Now().Add(time.Hour))}, store.Retryable)
	e.Later(node, 2*time.Minute)
	e.WantNothing(node)
	e.Edit(id, store.Edit{RunAt: new(e.Clock.Now().Add(time.Second))}, store.Retryable)
	e.Later(node, time.Second)
	e.End(e.ClaimOne(node, id), store.Retryable)
	e.Edit(id, store.Edit{RunAt: new(e.Clock.Now())}, store.Available)
	e.End(e.ClaimOne(node, id), store.Completed)
}

func editWaiting(e *env.Env) {
	told, timed := e.Parked(env.ForSignals()), e.Parked(&store.Wait{Until: e.Clock.Now().Add(time.Hour)})
	node := e.Join()
	for _, run := range []store.Claimed{told, timed} {
		before := e.Get(run.Job.ID)
		got := e.Edit(run.Job.ID, store.Edit{Queue: new("b"), Priority: new(4)}, store.Waiting)
		e.Equal("what it waits for", got.Wait, before.Wait)
		if !got.RunAt.Equal(before.RunAt) {
			e.Fatalf("the job that waits is due at %v, want %v", got.RunAt, before.RunAt)
		}
		e.WantNoEdit(run.Job.ID, store.Edit{RunAt: new(e.Clock.Now())}, store.ErrConflict)
	}
	batch := &store.Batch{Sends: []*store.Send{{Job: told.Job.ID, Message: env.Signal("approved")}}}
	e.Apply(batch)
	e.WantWoken(batch, "b")
	e.ClaimOne(node, told.Job.ID)
	e.Later(node, time.Hour)
	run := e.ClaimOne(node, timed.Job.ID)
	if run.Job.Queue != "b" || run.Job.Priority != 4 || !run.Durable {
		e.Fatalf("the run of the job that waited: %+v", run)
	}
	// In the line of an ordering key a job that waits has a turn, which is that of its queue.
	keyed := e.Parked(env.ForSignals(), env.Ordered("k"))
	e.WantNoEdit(keyed.Job.ID, store.Edit{Queue: new("b")}, store.ErrConflict)
	e.Edit(keyed.Job.ID, store.Edit{Queue: new("mail"), Priority: new(1)}, store.Waiting)
}

func editDeadline(e *env.Env) {
	node := e.Join()
	until := e.Clock.Now().Add(time.Hour)
	due := func(id store.ID, deadline, want time.Time) {
		e.Helper()
		if got := e.Edit(id, store.Edit{Deadline: &deadline}, store.Waiting).RunAt; !got.Equal(want) {
			e.Fatalf("with the deadline %v the job is woken at %v, want %v", deadline, got, want)
		}
	}
	timed, told := e.Parked(&store.Wait{Until: until}).Job.ID, e.Parked(env.ForSignals()).Job.ID
	soon, never := e.Clock.Now().Add(10*time.Minute), time.Time{}
	due(timed, until.Add(time.Hour), until)
	due(told, until.Add(time.Hour), until.Add(time.Hour))
	due(timed, soon, soon)
	due(told, soon, soon)
	due(timed, never, until)
	due(told, never, never)
	due(told, soon, soon)
	e.Later(node, 10*time.Minute)
	e.ClaimOne(node, told)
	// The deadline of one that is held wakes it when it goes on, and not before.
	held := e.Held().Job.ID
	past := e.Clock.Now().Add(time.Minute)
	if got := e.Edit(held, store.Edit{Deadline: &past}, store.Waiting); !got.RunAt.IsZero() || !got.Wait.Held {
		e.Fatalf("the held job: %+v", got)
	}
	e.Later(node, time.Hour)
	if runs := e.ClaimRuns(node); len(runs) != 1 { // timed
		e.Fatalf("claimed %d jobs", len(runs))
	}
	e.Resume(env.Resumption(held), store.Available)
	// One that is to be retried and remembers is called at its deadline, to end itself.
	run := e.Durable(1, env.Priority(1))
	e.End(run, store.Retryable, func(o *store.Outcome) { o.Delay = time.Hour })
	soon, later := e.Clock.Now().Add(time.Minute), e.Clock.Now().Add(time.Hour)
	if got := e.Edit(run.Job.ID, store.Edit{Deadline: &soon}, store.Retryable); !got.RunAt.Equal(soon) {
		e.Fatalf("the job that remembers is due at %v", got.RunAt)
	}
	plain := e.Add(env.Delay(time.Hour))
	if got := e.Edit(plain, store.Edit{Deadline: &soon}, store.Scheduled); !got.RunAt.Equal(later) {
		e.Fatalf("the job that does not remember is due at %v", got.RunAt)
	}
}

// wantReady checks that the last edit told of something to claim in a queue.
func wantReady(e *env.Env, what, queue string) {
	e.Helper()
	if !env.IsReady(e.Told(), env.OtherSpace, queue) {
		e.Fatalf("%s: told are %+v", what, e.Told())
	}
}

// wantDue checks that the last edit told that something is due at a time, or before.
func wantDue(e *env.Env, what string, at time.Time) {
	e.Helper()
	if !slices.ContainsFunc(e.Told(), func(w store.Wake) bool {
		return w.Kind == store.WakeDeferred && !w.Due.IsZero() && !w.Due.After(at)
	}) {
		e.Fatalf("%s: told are %+v", what, e.Told())
	}
}

func editTold(e *env.Env) {
	o := e.InOtherSpace()
	soon := e.Clock.Now().Add(time.Minute)
	id := o.Add(env.Delay(time.Hour))
	o.Edit(id, store.Edit{RunAt: &soon}, store.Scheduled)
	wantDue(e, "a run time", soon)
	o.Edit(id, store.Edit{RunAt: new(e.Clock.Now())}, store.Available)
	wantReady(e, "now", "mail")
	o.Edit(id, store.Edit{Queue: new("b")}, store.Available)
	wantReady(e, "another queue", "b")
	o.Edit(id, store.Edit{Priority: new(4)}, store.Available)
	wantReady(e, "another priority", "b")
	o.Edit(id, store.Edit{AddTags: []string{"t"}}, store.Available)
	if told := e.Told(); len(told) > 0 {
		e.Fatalf("a tag: told are %+v", told)
	}
	waits := o.Parked(env.ForSignals(), env.Priority(1)).Job.ID
	o.Edit(waits, store.Edit{Deadline: &soon}, store.Waiting)
	wantDue(e, "a deadline", soon)
}

func editTurn(e *env.Env) {
	node := e.Join()
	first, second := e.Add(env.Ordered("k")), e.Add(env.Ordered("k"))
	run := e.ClaimOne(node, first)
	e.End(run, store.Retryable)
	// Its own queue, another priority and time: it keeps its turn.
	e.Edit(first, store.Edit{Priority: new(4), Queue: new("mail")}, store.Retryable)
	e.Edit(first, store.Edit{RunAt: new(e.Clock.Now().Add(time.Hour))}, store.Retryable)
	e.WantNothing(node)
	e.Later(node, time.Hour)
	e.End(e.ClaimOne(node, first), store.Available)
	e.Edit(first, store.Edit{Priority: new(1)}, store.Available)
	e.Edit(first, store.Edit{RunAt: new(e.Clock.Now().Add(time.Minute))}, store.Scheduled)
	e.WantNothing(node)
	// In another queue it is in another line, behind the job that has the turn there.
	there := e.ClaimOne(node, e.Add(env.Ordered("k"), env.Queue("b")))
	e.Edit(first, store.Edit{Queue: new("b")}, store.Scheduled)
	now := func(w store.Wake) bool { return w.Kind == store.WakeReady || !w.Due.After(e.Clock.Now()) }
	if told := e.Told(); !slices.ContainsFunc(told, now) {
		e.Fatalf("a turn that is free: told are %+v", told)
	}
	e.End(e.ClaimOne(node, second), store.Completed)
	e.Later(node, time.Minute)
	e.WantNothing(node)
	if !e.Get(first).Blocked {
		e.Fatal("the job that changed its queue does not wait for its turn there")
	}
	e.End(there, store.Completed)
	e.End(e.ClaimOne(node, first), store.Completed)
	for _, queue := range []string{"mail", "b"} { // where the turn is free
		e.End(e.ClaimOne(node, e.Add(env.Ordered("k"), env.Queue(queue))), store.Completed)
	}
}

func editLine(e *env.Env) {
	node := e.Join()
	run := e.ClaimOne(node, e.Add(env.Ordered("k")))
	var ids []store.ID
	for range 5 {
		e.Clock.Advance(time.Second)
		ids = append(ids, e.Add(env.Ordered("k")))
	}
	e.Edit(ids[0], store.Edit{Priority: new(4)}, store.Available)
	e.Edit(ids[3], store.Edit{Priority: new(1)}, store.Available)
	e.Edit(ids[1], store.Edit{RunAt: new(e.Clock.Now())}, store.Available)
	e.Edit(ids[2], store.Edit{RunAt: new(e.Clock.Now().Add(time.Hour))}, store.Scheduled)
	for _, id := range []store.ID{ids[3], ids[1], ids[4], ids[0]} {
		e.WantNothing(node)
		e.End(run, store.Completed)
		run = e.ClaimOne(node, id)
	}
	// Out of the line it comes to a queue where the key is free.
	e.Edit(ids[2], store.Edit{Queue: new("b"), RunAt: new(e.Clock.Now())}, store.Available)
	e.End(e.ClaimOne(node, ids[2]), store.Completed)
	// And so does one that has been behind another one.
	last := e.Add(env.Ordered("k"))
	e.WantNothing(node)
	e.Edit(last, store.Edit{Queue: new("c")}, store.Available)
	e.End(e.ClaimOne(node, last), store.Completed)
	e.End(run, store.Completed)
}

func editHeld(e *env.Env) {
	node := e.Join()
	id := e.Add()
	e.PauseJob(id, store.Waiting)
	got := e.Edit(id, store.Edit{Queue: new("b"), Priority: new(4), Args: []byte(`5`)}, store.Waiting)
	if !got.Wait.Held || !got.RunAt.IsZero() {
		e.Fatalf("the job that was paused: %+v", got)
	}
	e.WantNothing(node)
	e.Resume(env.Resumption(id), store.Available)
	if run := e.ClaimOne(node, id); run.Job.Queue != "b" || run.Job.Priority != 4 || string(run.Job.Args) != `5` {
		e.Fatalf("the run: %+v", run.Job)
	}
	later := e.Add(env.Delay(time.Hour))
	e.PauseJob(later, store.Waiting)
	e.Edit(later, store.Edit{Queue: new("b")}, store.Waiting)
	e.Resume(env.Resumption(later), store.Scheduled)
	e.Later(node, time.Hour)
	if run := e.ClaimOne(node, later); run.Job.Queue != "b" {
		e.Fatalf("the run: %+v", run.Job)
	}
}

func editUniqueQueue(e *env.Env) {
	id := e.Add(env.Unique("u", store.Scheduled, store.Available))
	e.Edit(id, store.Edit{Queue: new("b")}, store.Available)
	e.WantTaken("u", id)
	e.Edit(id, store.Edit{RunAt: new(e.Clock.Now().Add(time.Hour))}, store.Scheduled)
	e.WantTaken("u", id)
	e.Edit(id, store.Edit{RunAt: new(e.Clock.Now())}, store.Available)
	e.ClaimOne(e.Join(), id)
	e.WantFree("u")
}

func editOften(e *env.Env) {
	node := e.Join()
	ids := env.IDsOf(e.Many(8, env.Ordered("k")))
	ids = append(ids, env.IDsOf(e.Many(8))...)
	for i := range 60 {
		id := ids[i*7%len(ids)]
		var change store.Edit
		if i%2 == 0 {
			change.Queue = new([]string{"mail", "b", "c"}[i%3])
		}
		if i%3 == 0 {
			change.Priority = new(1 + i%4)
		}
		if i%5 == 0 {
			change.RunAt = new(e.Clock.Now().Add(time.Duration(i%4) * time.Second))
		}
		if _, err := e.TryEdit(env.Edits(id, change)); err != nil {
			e.Fatalf("edit %d: %v", i, err)
		}
		if i%10 == 9 {
			e.Clock.Advance(time.Second)
			e.Promote()
		}
	}
	e.Later(node, time.Minute)
	ran := map[store.ID]int{}
	for runs := e.Claim(node, 100); len(runs) > 0; runs = e.Claim(node, 100) {
		for _, run := range runs {
			ran[run.Job.ID]++
			e.End(run, store.Completed)
		}
	}
	for _, id := range ids {
		if ran[id] != 1 {
			e.Errorf("%v, which was changed often, ran %d times", id, ran[id])
		}
	}
}

func editQueues(e *env.Env) {
	id := e.Add()
	e.Edit(id, store.Edit{Queue: new("new")}, store.Available)
	e.Equal("queues", e.QueueNames(), []string{"mail", "new"})
	if n := e.Queue("new").Counts[store.Available].N; n != 1 {
		e.Fatalf("the new queue has %d jobs", n)
	}
	if n := e.Queue("mail").Counts[store.Available].N; n != 0 {
		e.Fatalf("the old queue has %d jobs", n)
	}
	e.Pause("paused", true)
	e.Edit(id, store.Edit{Queue: new("paused")}, store.Available)
	node := e.Join()
	e.WantNothing(node)
	e.Pause("paused", false)
	e.ClaimOne(node, id)
}
