package family

import (
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// startOverTests are about jobs that people let start over.
var startOverTests = env.Tests{
	"AtomicTransitions_a_person_lets_a_job_start_over":         startOverAnew,
	"NoLoss_what_nobody_received_and_who_asks_stays":           startOverKeeps,
	"a_job_that_may_go_on_by_itself_does_not_start_over":       startOverRefused,
	"a_job_that_compensates_does_not_start_over":               startOverClosing,
	"UniqueIsUnique_a_finished_job_needs_its_key_to_do_so":     startOverUnique,
	"a_job_without_a_journal_has_one_then":                     startOverPlain,
	"OneOwner_the_run_of_before_is_over":                       startOverFenced,
	"Order_a_job_that_starts_over_keeps_the_turn_of_its_key":   startOverTurn,
	"a_person_who_knows_another_journal_may_not_start_it_anew": startOverExpect,
}

// over lets a job start over.
func over(id store.ID) store.ResumeParams {
	params := env.Resumption(id)
	params.Keep, params.Continue = 0, &store.Continue{Args: []byte("\x00\xff new"), Codec: 6, Data: []byte(`{"times":1}`)}
	return params
}

// ways make a job with two entries that may start over, and tell what it is.
func ways(e *env.Env) map[string]store.Claimed {
	ended := func(state store.State) store.Claimed {
		run := e.Durable(2, env.Attempts(5))
		e.End(run, state)
		return run
	}
	parked := func(w *store.Wait) store.Claimed {
		run := e.Durable(2, env.Attempts(5))
		e.ParkAs(store.Waiting, run, w)
		return run
	}
	until := env.ForSignals()
	until.Until = e.Clock.Now().Add(time.Hour)
	paused := parked(env.ForSignals())
	e.PauseJob(paused.Job.ID, store.Waiting)
	return map[string]store.Claimed{
		"failed": ended(store.Failed), "cancelled": ended(store.Cancelled), "parked": parked(env.ForSignals()),
		"parked for a time": parked(until), "held": parked(&store.Wait{Held: true}), "paused": paused,
	}
}

func startOverAnew(e *env.Env) {
	node := e.Join()
	for what, run := range ways(e) {
		id := run.Job.ID
		e.Clock.Advance(time.Second)
		e.Resume(over(id), store.Available)
		if !env.IsReady(e.Told(), env.Namespace, run.Job.Queue) {
			e.Fatalf("%s: told are %+v", what, e.Told())
		}
		record := e.Get(id)
		if record.Attempt != 0 || record.Closing || string(record.Args) != "\x00\xff new" || record.Codec != 6 || record.Wait != nil ||
			record.Journal != 1 || record.Messages != 0 || record.Reason != "" || !record.FinishedAt.IsZero() || !record.RunAt.Equal(e.Clock.Now()) {
			e.Fatalf("%s: the job that starts over: %+v", what, record)
		}
		e.Equal(what+": the journal", e.Journal(id).Entries, []store.Entry{{
			Seq: 3, Kind: store.EntryContinued, Data: []byte(`{"times":1}`), At: e.Clock.Now(), LeaseNumber: run.Lease.Number,
		}}, cmpopts.IgnoreFields(store.Entry{}, "Codec"))
		last := record.Actions[len(record.Actions)-1]
		e.Equal(what+": the action", last, store.Action{At: e.Clock.Now(), Kind: store.ActionContinue, Actor: "ada", Reason: "fixed"})
		e.Beat(node)
		next := e.ClaimOne(node, id)
		if next.Job.Attempt != 1 || next.Lease.Number != run.Lease.Number+1 || !next.Durable || next.Job.Codec != 6 {
			e.Fatalf("%s: the next run: %+v", what, next)
		}
		e.Write(&next, env.Step(4))
		e.End(next, store.Completed)
	}
}

func startOverKeeps(e *env.Env) {
	for _, end := range []func(store.Claimed){
		func(run store.Claimed) { e.Park(run, &store.Wait{Held: true}) }, func(run store.Claimed) { e.End(run, store.Failed) },
	} {
		run := e.Durable(1)
		id := run.Job.ID
		e.Write(&run, env.Entry(2, store.EntryStreamed, "log"))
		for _, name := range []string{"s1", "s2", "s3"} {
			e.Send(id, env.Signal(name))
		}
		e.Write(&run, store.Entry{Seq: 3, Kind: store.EntryReceived, Path: "2", Ref: 2})
		done := e.Ask(id, "done")
		e.Ask(id, "open")
		e.Answer(run, env.Answered(done, "1"))
		end(run)
		finished := e.Get(id).State.Finished()
		e.Resume(over(id), store.Available)
		messages := e.Messages(id)
		if len(messages) != 2 || messages[0].Name != "s1" || messages[1].Name != "s3" || messages[1].Seq != 2 {
			e.Fatalf("messages: %+v", messages)
		}
		items, err := e.Store.Entries(e.Ctx, store.JournalParams{Job: id, Kinds: env.Items, Earlier: true, Limit: 10})
		if err != nil || len(items) != 1 || items[0].Seq != 2 {
			e.Fatalf("items: %+v, %v", items, err)
		}
		e.WantAnswer(id, "done", store.UpdateDone, "1")
		if finished { // who asked was told that it has ended
			e.WantOpen(id)
		} else {
			e.WantOpen(id, "open")
		}
		e.Terminate(id)
	}
}

func startOverRefused(e *env.Env) {
	node := e.Join()
	running := e.Durable(1)
	e.WantNoResume(over(running.Job.ID), store.ErrConflict)
	e.TryPause(running.Job.ID)
	e.WantNoResume(over(running.Job.ID), store.ErrConflict) // nor is the request taken back
	if !e.Get(running.Job.ID).PauseRequested {
		e.Fatal("the request to pause is gone")
	}
	completed := e.Durable(1)
	e.End(completed, store.Completed)
	e.WantNoResume(over(completed.Job.ID), store.ErrConflict)
	available := e.Add()
	e.WantNoResume(over(available), store.ErrConflict)
	retryable := e.ClaimOne(node, available)
	e.End(retryable, store.Retryable)
	e.WantNoResume(over(available), store.ErrConflict)
	e.WantNoResume(over(e.Add(env.Delay(time.Hour))), store.ErrConflict)
	_, _, err := e.Store.Resume(e.Ctx, over(e.IDs.Next()))
	e.WantErr("a job that is not there", err, store.ErrNotFound)
	params := over(completed.Job.ID)
	params.Namespace = env.OtherSpace
	_, _, err = e.Store.Resume(e.Ctx, params)
	e.WantErr("a job of another namespace", err, store.ErrNotFound)
}

func startOverClosing(e *env.Env) {
	closing := func(change ...func(*store.Enqueue)) store.Claimed {
		run := e.Started(change...)
		e.NoError("append", e.TryAppend(&store.Append{Lease: run.Lease, Entries: env.Steps(1, 1), Closing: true}))
		return run
	}
	for _, held := range []bool{true, false} {
		run := closing()
		wait := env.ForSignals()
		wait.Held = held
		e.ParkAs(store.Waiting, run, wait)
		e.WantNoResume(over(run.Job.ID), store.ErrConflict)
		if e.Terminate(run.Job.ID); e.Get(run.Job.ID).State != store.Cancelled {
			e.Fatal("it was not terminated")
		}
		e.Resume(over(run.Job.ID), store.Available) // what it did not undo is a person's decision
		e.Terminate(run.Job.ID)
	}
	run := closing()
	e.End(run, store.Failed)
	e.Resume(over(run.Job.ID), store.Available)
	if e.Get(run.Job.ID).Closing {
		e.Fatal("the job that starts over is closing")
	}
}

func startOverUnique(e *env.Env) {
	run := e.Durable(1, env.Unique("u"))
	e.End(run, store.Failed)
	holder := e.Add(env.Unique("u"))
	params := over(run.Job.ID)
	e.WantNoResume(params, store.ErrConflict)
	e.WantEntries(run.Job.ID, 1)
	e.Cancel(holder)
	e.Resume(params, store.Available)
	if q := e.Try(env.Unique("u")); !q.Result.Existing || q.Result.ID != run.Job.ID {
		e.Fatalf("the key is %+v", q.Result)
	}
}

func startOverPlain(e *env.Env) {
	run := e.Started(env.Attempts(1))
	e.End(run, store.Failed)
	e.Resume(over(run.Job.ID), store.Available)
	next := e.ClaimOne(e.Join(), run.Job.ID)
	if !next.Durable {
		e.Fatalf("the next run: %+v", next)
	}
	e.WantEntries(run.Job.ID, 1)
	e.Write(&next, env.Step(2))
	// One that has never run remembers, too, that it starts over: its run ends it in order.
	never := e.Add()
	e.PauseJob(never, store.Waiting)
	e.Resume(over(never), store.Available)
	if states := e.Cancel(never); states[0] != store.Available {
		e.Fatalf("the job that has never run was %v", states)
	}
	e.WantCancelTold(next.Lease.Node, never)
}

func startOverFenced(e *env.Env) {
	run := e.Parked(env.ForSignals())
	e.Resume(over(run.Job.ID), store.Available)
	e.WantLost(run)
	e.WantNoAppend(run.Lease)
	// A run that is lost before it has written anything is counted, as its predecessor wrote last.
	next := e.ClaimOne(e.Join(), run.Job.ID)
	e.Lose(next)
	if record := e.Get(run.Job.ID); record.Attempt != 1 {
		e.Fatalf("the job whose run was lost: %+v", record)
	}
}

func startOverTurn(e *env.Env) {
	node := e.Join()
	run := e.ClaimOne(node, e.Add(env.Ordered("o")))
	e.Write(&run, env.Step(1))
	e.ParkAs(store.Waiting, run, env.ForSignals())
	second := e.Add(env.Ordered("o"), env.Priority(1))
	e.Resume(over(run.Job.ID), store.Available)
	e.End(e.ClaimOne(node, run.Job.ID), store.Completed)
	e.ClaimOne(node, second)
}

func startOverExpect(e *env.Env) {
	for _, run := range ways(e) {
		params := over(run.Job.ID)
		params.Expect = 1
		e.WantNoResume(params, store.ErrConflict)
		params.Expect = 2
		e.Resume(params, store.Available)
		e.Terminate(run.Job.ID)
	}
}
