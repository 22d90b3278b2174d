package updates

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var updateTests = env.Tests{
	"NoLoss_requests_are_kept_in_the_order_in_which_they_came":     updateKept,
	"requests_are_no_messages_and_no_entries":                      updateApart,
	"a_key_makes_a_repeated_request_do_nothing":                    updateKeys,
	"a_request_that_is_none_is_invalid":                            updateInvalid,
	"a_finished_job_takes_no_request_that_it_does_not_know":        updateFinished,
	"a_request_is_one_to_a_job_of_its_namespace":                   updateNamespace,
	"only_so_many_open_requests_are_told_at_once":                  updateBound,
	"NoLoss_a_request_wakes_a_job_that_waits_for_one":              updateWakes,
	"a_request_wakes_no_job_that_does_not_wait_for_one":            updateWakesNot,
	"NoLoss_a_request_that_the_parking_run_does_not_know_wakes_it": updateMeetsPark,
	"requests_and_parks_of_a_batch_stand_on_their_own":             updateBatch,
}

func updateKept(e *env.Env) {
	id, other := e.Add(), e.Add()
	// A job need not have begun, and what is sent is any bytes.
	want := []store.Update{
		{Key: "b", Name: "add", Data: []byte("\x00\xff any bytes"), Codec: 7},
		{Key: "a", Name: "remove"},
		{Key: "c", Name: "add", Data: []byte(`{"n":1}`)},
	}
	last := int64(0)
	for i, u := range want {
		message := store.Message{Kind: store.MessageUpdate, Name: u.Name, Data: u.Data, Codec: u.Codec, Seq: 77, At: env.Start}
		q := e.TrySend(id, message, u.Key)
		if q.Err != nil || q.Result.Seq <= last || q.Result.Duplicate || q.Result.Woken {
			e.Fatalf("request %d: %+v, %v", i, q.Result, q.Err)
		}
		last = q.Result.Seq
		want[i].Seq, want[i].At = last, e.Clock.Now()
		e.Ask(other, u.Key) // the numbers of one job need not follow each other
		e.Clock.Advance(time.Second)
	}
	e.Equal("open requests", e.OpenUpdates(id), want)
	for _, u := range want {
		e.Equal("request "+u.Key, e.Update(id, u.Key), u)
	}
	both, err := e.Store.OpenUpdates(e.Ctx, env.AllOf(other, e.IDs.Next(), id))
	if err != nil || len(both) != 3 || len(both[0]) != 3 || len(both[1]) != 0 {
		e.Fatalf("open requests of three jobs, of which one is unknown: %+v, %v", both, err)
	}
	e.Equal("open requests of the last", both[2], want)
	later, err := e.Store.OpenUpdates(e.Ctx, []store.UpdatesAfter{{Job: id, Seq: want[0].Seq}, {Job: other, Seq: last + 100}})
	if err != nil || len(later) != 2 || len(later[1]) != 0 {
		e.Fatalf("open requests after a number: %+v, %v", later, err)
	}
	e.Equal("open requests after the first", later[0], want[1:])
	e.WantNoUpdate(id, "d")
	e.WantNoUpdate(e.IDs.Next(), "a")
	e.WantErr("a request to an unknown job", e.TrySend(e.IDs.Next(), env.Request("add"), "a").Err, store.ErrNotFound)
}

func updateApart(e *env.Env) {
	run := e.Durable(2)
	e.Send(run.Job.ID, env.Signal("s"))
	before := e.Journal(run.Job.ID)
	// The key of a message and that of a request may be the same.
	e.TrySend(run.Job.ID, env.Signal("s"), "k")
	e.Ask(run.Job.ID, "k")
	e.Ask(run.Job.ID, "l")
	if r := e.Send(run.Job.ID, env.Signal("s")); r.Seq != 3 {
		e.Fatalf("the message after the requests has the number %d", r.Seq)
	}
	after := e.Journal(run.Job.ID)
	e.Equal("entries", after.Entries, before.Entries)
	if n := e.Get(run.Job.ID).Messages; n != 3 || len(after.Messages) != 3 {
		e.Fatalf("the job has %d messages, and %d are read", n, len(after.Messages))
	}
}

func updateKeys(e *env.Env) {
	id := e.Add()
	seq := e.Ask(id, "k")
	e.Clock.Advance(time.Second)
	before := e.Update(id, "k")
	again := e.TrySend(id, env.Request("another"), "k")
	if again.Err != nil || again.Result != (store.SendResult{Seq: seq, Duplicate: true}) {
		e.Fatalf("the repeated request: %+v, %v", again.Result, again.Err)
	}
	e.Equal("the request", e.Update(id, "k"), before)
	// A batch may have two with one key.
	x := &store.Send{Job: id, Message: env.Request("x"), Key: "x"}
	y := &store.Send{Job: id, Message: env.Request("y"), Key: "x"}
	e.Apply(&store.Batch{Sends: []*store.Send{x, y}})
	if x.Err != nil || y.Err != nil || x.Result.Duplicate || y.Result != (store.SendResult{Seq: x.Result.Seq, Duplicate: true}) {
		e.Fatalf("requests of a batch: %+v, %+v, %v, %v", x.Result, y.Result, x.Err, y.Err)
	}
	if u := e.Update(id, "x"); u.Name != "x" {
		e.Fatalf("the second one was kept: %+v", u)
	}
	e.WantOpen(id, "k", "x")
}

func updateInvalid(e *env.Env) {
	id := e.Add()
	for what, q := range map[string]*store.Send{
		"without a key":          {Message: env.Request("add")},
		"with a NUL in its key":  {Message: env.Request("add"), Key: "a\x00b"},
		"with a NUL in its name": {Message: env.Request("a\x00b"), Key: "k"},
		"of a wrong codec":       {Message: store.Message{Kind: store.MessageUpdate, Codec: -1}, Key: "k"},
		"of a kind after it":     {Message: store.Message{Kind: store.MessageUpdate + 1}, Key: "k"},
	} {
		q.Job = id
		e.Apply(&store.Batch{Sends: []*store.Send{q}})
		e.WantErr("a request "+what, q.Err, store.ErrInvalid)
	}
	run := e.ClaimOne(e.Join(), id)
	for what, a := range map[string]store.UpdateAnswer{
		"without a number": {Verdict: store.UpdateDone}, "without a verdict": {Seq: 1}, "of a wrong verdict": {Seq: 1, Verdict: 4},
		"of a wrong codec": {Seq: 1, Verdict: store.UpdateDone, Codec: -1},
	} {
		e.WantErr("an answer "+what, e.TryAppend(&store.Append{Lease: run.Lease, Answers: []store.UpdateAnswer{a}}), store.ErrInvalid)
	}
	e.WantOpen(id)
}

func updateFinished(e *env.Env) {
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		run := e.Durable(1)
		done, open := e.Ask(run.Job.ID, "done"), e.Ask(run.Job.ID, "open")
		e.Answer(run, env.Answered(done, "1"))
		e.End(run, state)
		for key, seq := range map[string]int64{"done": done, "open": open} {
			if q := e.TrySend(run.Job.ID, env.Request("add"), key); q.Err != nil || q.Result != (store.SendResult{Seq: seq, Duplicate: true}) {
				e.Fatalf("a known request to a %v job: %+v, %v", state, q.Result, q.Err)
			}
		}
		e.WantErr("a new request", e.TrySend(run.Job.ID, env.Request("add"), "new").Err, store.ErrConflict)
		e.WantNoUpdate(run.Job.ID, "new")
		e.WantAnswer(run.Job.ID, "done", store.UpdateDone, "1")
		e.WantOpen(run.Job.ID, "open")
	}
}

func updateNamespace(e *env.Env) {
	id := e.InOtherSpace().Add()
	q := &store.Send{Namespace: env.Namespace, Job: id, Message: env.Request("add"), Key: "k"}
	e.Apply(&store.Batch{Sends: []*store.Send{q}})
	e.WantErr("a request from another namespace", q.Err, store.ErrNotFound)
	q = &store.Send{Namespace: env.OtherSpace, Job: id, Message: env.Request("add"), Key: "k"}
	e.Apply(&store.Batch{Sends: []*store.Send{q}})
	e.NoError("a request from its namespace", q.Err)
	_, err := e.Store.GetUpdate(e.Ctx, env.Namespace, id, "k")
	e.WantErr("a request that is looked at from another namespace", err, store.ErrNotFound)
	if u, err := e.Store.GetUpdate(e.Ctx, env.OtherSpace, id, "k"); err != nil || u.Seq != q.Result.Seq {
		e.Fatalf("the request: %+v, %v", u, err)
	}
	run := e.InOtherSpace().ClaimOne(e.Join(), id)
	e.Answer(run, env.RefusedAs(q.Result.Seq, "no"))
	e.NoError("ForgetUpdate", e.Store.ForgetUpdate(e.Ctx, env.Namespace, id, "k"))
	e.WantAnswer(id, "k", store.UpdateRefused, "no")
	e.NoError("ForgetUpdate", e.Store.ForgetUpdate(e.Ctx, env.OtherSpace, id, "k"))
	e.WantNoUpdate(id, "k")
}

func updateBound(e *env.Env) {
	id := e.Add()
	batch := &store.Batch{}
	for i := range store.UpdateBound + 5 {
		batch.Sends = append(batch.Sends, &store.Send{Job: id, Message: env.Request("add"), Key: fmt.Sprint("k", i)})
	}
	e.Apply(batch)
	open := e.OpenUpdates(id)
	if len(open) != store.UpdateBound || open[0].Key != "k0" || open[store.UpdateBound-1].Key != fmt.Sprint("k", store.UpdateBound-1) {
		e.Fatalf("%d open requests, from %s on", len(open), open[0].Key)
	}
	rest, err := e.Store.OpenUpdates(e.Ctx, []store.UpdatesAfter{{Job: id, Seq: open[store.UpdateBound-1].Seq}})
	if err != nil || len(rest[0]) != 5 {
		e.Fatalf("%d more, %v", len(rest[0]), err)
	}
}

func updateWakes(e *env.Env) {
	run := e.Durable(1, env.Queue("carts"))
	old := e.Ask(run.Job.ID, "old")
	e.ParkAs(store.Waiting, run, env.ForUpdates(old))
	if record := e.Get(run.Job.ID); string(record.Wait.For) != `{"waits_for":["update add"]}` {
		e.Fatalf("the job waits for %s", record.Wait.For)
	}
	e.Clock.Advance(time.Second)
	known := &store.Send{Job: run.Job.ID, Message: env.Request("add"), Key: "old"} // nothing has come
	batch := &store.Batch{Sends: []*store.Send{known}}
	e.Apply(batch)
	if known.Result.Woken {
		e.Fatal("a request that was known woke the job")
	}
	e.WantWoken(batch)
	e.WantState(run.Job.ID, store.Waiting)
	first := &store.Send{Job: run.Job.ID, Message: env.Request("add"), Key: "first"}
	second := &store.Send{Job: run.Job.ID, Message: env.Request("add"), Key: "second"}
	batch = &store.Batch{Sends: []*store.Send{first, second}}
	e.Apply(batch)
	if first.Err != nil || !first.Result.Woken || second.Result.Woken {
		e.Fatalf("the requests: %+v, %v; %+v", first.Result, first.Err, second.Result)
	}
	e.WantWoken(batch, "carts")
	record := e.Get(run.Job.ID)
	if record.State != store.Available || !record.RunAt.Equal(e.Clock.Now()) || record.Wait != nil || len(record.Attempts) != 0 {
		e.Fatalf("the woken job: %+v", record)
	}
	again := e.ClaimOne(run.Lease.Node, run.Job.ID)
	if again.Job.Attempt != 1 || !again.Durable {
		e.Fatalf("the next run: %+v", again)
	}
	e.WantOpen(run.Job.ID, "old", "first", "second")
}

func updateWakesNot(e *env.Env) {
	for what, wait := range map[string]*store.Wait{
		"for signals": env.ForSignals(), "for a count": {Count: 1}, "for a failure": {Failures: true},
		"for a person": {Held: true, Kinds: store.MessagesOf(store.MessageUpdate)},
	} {
		run := e.Parked(wait)
		q := e.TrySend(run.Job.ID, env.Request("add"), "k")
		if q.Err != nil || q.Result.Woken {
			e.Fatalf("a job that waits %s was woken: %+v, %v", what, q.Result, q.Err)
		}
		e.WantState(run.Job.ID, store.Waiting)
	}
	// Nor does a message wake a job that waits for requests.
	run := e.Parked(env.ForUpdates(0))
	if e.Send(run.Job.ID, env.Signal("s")).Woken {
		e.Fatal("a signal woke a job that waits for requests")
	}
	e.WantState(run.Job.ID, store.Waiting)
}

func updateMeetsPark(e *env.Env) {
	node := e.Join()
	run := e.ClaimOne(node, e.Add())
	e.Write(&run, env.Step(1))
	first := e.Ask(run.Job.ID, "first")
	second := e.Ask(run.Job.ID, "second")
	e.ParkAs(store.Available, run, env.ForUpdates(first))
	run = e.ClaimOne(node, run.Job.ID)
	e.ParkAs(store.Waiting, run, env.ForUpdates(second))
	e.Ask(run.Job.ID, "third")
	run = e.ClaimOne(node, run.Job.ID)
	// What has an answer is not waited for.
	third := e.Update(run.Job.ID, "third").Seq
	e.Answer(run, env.Answered(third, "3"))
	e.ParkAs(store.Waiting, run, env.ForUpdates(second))
	// A run that does not wait for requests, or for a person, knows of none.
	e.Ask(run.Job.ID, "fourth")
	run = e.ClaimOne(node, run.Job.ID)
	e.ParkAs(store.Waiting, run, env.ForSignals())
	e.Send(run.Job.ID, env.Signal("s"))
	run = e.ClaimOne(node, run.Job.ID)
	e.ParkAs(store.Waiting, run, &store.Wait{Held: true, Kinds: store.MessagesOf(store.MessageUpdate)})
	// One with a number that was removed does not hide the next.
	run = e.Durable(1)
	refused := e.Ask(run.Job.ID, "refused")
	e.Answer(run, env.RefusedAs(refused, "no"))
	e.NoError("ForgetUpdate", e.Store.ForgetUpdate(e.Ctx, "", run.Job.ID, "refused"))
	if next := e.Ask(run.Job.ID, "refused"); next <= refused {
		e.Fatalf("the request after %d has the number %d", refused, next)
	}
	e.ParkAs(store.Available, run, env.ForUpdates(refused))
}

func updateBatch(e *env.Env) {
	a, b, c := e.Durable(1, env.Queue("a")), e.Durable(1, env.Queue("b")), e.Parked(env.ForUpdates(0), env.Queue("c"))
	seq := e.Ask(b.Job.ID, "known")
	park := func(run store.Claimed, seen int64) *store.Outcome {
		return env.Outcome(run, store.Waiting, func(o *store.Outcome) { o.Wait, o.Durable = env.ForUpdates(seen), true })
	}
	batch := &store.Batch{
		Appends: []*store.Append{{Lease: b.Lease, Answers: []store.UpdateAnswer{env.Answered(seq, `"b"`)}}},
		Sends: []*store.Send{
			{Job: a.Job.ID, Message: env.Request("add"), Key: "k"},
			{Job: b.Job.ID, Message: env.Request("add"), Key: "known"},
			{Job: c.Job.ID, Message: env.Request("add"), Key: "k"},
			{Job: c.Job.ID, Message: env.Signal("s")},
		},
		Outcomes: []*store.Outcome{park(a, 0), park(b, 0)},
	}
	e.Apply(batch)
	for i, q := range batch.Sends {
		if q.Err != nil || q.Result.Woken != (i == 2) {
			e.Fatalf("send %d: %+v, %v", i, q.Result, q.Err)
		}
	}
	if batch.Outcomes[0].Final != store.Available || batch.Outcomes[1].Final != store.Waiting {
		e.Fatalf("the parks: %v and %v", batch.Outcomes[0].Final, batch.Outcomes[1].Final)
	}
	if !env.Wakes(batch, "c") {
		e.Fatalf("told are %+v", batch.Woken)
	}
	e.WantAnswer(b.Job.ID, "known", store.UpdateDone, `"b"`)
	e.Equal("the request that parked with its run", e.Update(a.Job.ID, "k"),
		store.Update{Key: "k", Name: "add", Data: []byte(`{"n":1}`), At: e.Clock.Now()}, cmpopts.IgnoreFields(store.Update{}, "Seq"))
}
