package keys

import (
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var sendTests = env.Tests{
	"a_signal_starts_a_job_or_goes_to_the_one_that_has_the_key":      sendStarts,
	"signals_of_one_batch_go_to_one_job_in_their_order":              sendBatch,
	"a_signal_wakes_the_job_that_waits_for_it":                       sendWakes,
	"a_finished_job_that_keeps_its_key_takes_no_signal":              sendKept,
	"a_signal_goes_to_the_next_job_once_the_key_is_free":             sendNext,
	"NoLoss_a_repeated_enqueue_sends_its_signal_once":                sendRepeated,
	"NoLoss_what_was_sent_is_known_after_another_job_took_the_key":   sendKnown,
	"a_repeated_enqueue_is_recognised_for_a_day":                     sendForgotten,
	"a_signal_with_a_key_of_its_own_arrives_once":                    sendDedup,
	"a_unit_with_a_signal_that_cannot_be_sent_is_refused_as_a_whole": sendRequired,
}

func sendStarts(e *env.Env) {
	first := e.SendOrStart("k", "one")
	if first.Result.Existing || first.Result.ID != first.Job.ID || first.Result.State != store.Available || first.Send.Result.Seq != 1 {
		e.Fatalf("started: %+v, %+v", first.Result, first.Send.Result)
	}
	second := e.SendOrStart("k", "two", env.Args("2"))
	if !second.Result.Existing || second.Result.ID != first.Job.ID || !second.Result.Differs || second.Send.Result.Seq != 2 {
		e.Fatalf("attached: %+v, %+v", second.Result, second.Send.Result)
	}
	e.WantUnknown(second.Job.ID)
	e.Equal("messages", e.Names(first.Job.ID), []string{"one", "two"})
	run := e.ClaimOne(e.Join(), first.Job.ID)
	e.SendOrStart("k", "three")
	e.Equal("messages", e.Names(run.Job.ID), []string{"one", "two", "three"})
	later := e.SendOrStart("later", "one", env.Delay(time.Hour))
	if later.Result.State != store.Scheduled {
		e.Fatalf("a job for later: %+v", later.Result)
	}
}

func sendBatch(e *env.Env) {
	var enqueues []*store.Enqueue
	var names []string
	for i := range 20 {
		name := string(rune('a' + i))
		enqueues, names = append(enqueues, e.Job(env.Key("k"), env.Along(name))), append(names, name)
		enqueues = append(enqueues, e.Job(env.Key("other "+name), env.Along(name)), e.Job())
	}
	e.Enqueue(enqueues...)
	holder := e.Find("k")
	if holder != enqueues[0].Job.ID {
		e.Fatalf("the first one has not got the key")
	}
	e.Equal("messages", e.Names(holder), names)
	for i, q := range enqueues {
		switch {
		case q.Send == nil:
		case q.Result.Existing != (i%3 == 0 && i > 0), q.Send.Result.Duplicate, i%3 == 0 && q.Send.Result.Seq != int64(i/3+1):
			e.Fatalf("enqueue %d: %+v, %+v", i, q.Result, q.Send.Result)
		}
	}
	if n := len(e.Claim(e.Join(), 100)); n != 41 {
		e.Fatalf("%d jobs are there", n)
	}
}

func sendWakes(e *env.Env) {
	run := e.Parked(env.ForSignals(), env.Key("k"), env.Queue("sleepers"))
	q := e.Job(env.Key("k"), env.Along("go"))
	batch := &store.Batch{Enqueues: []*store.Enqueue{q}}
	e.Apply(batch)
	if q.Err != nil || q.Result.ID != run.Job.ID || !q.Send.Result.Woken {
		e.Fatalf("woken: %+v, %+v, %v", q.Result, q.Send.Result, q.Err)
	}
	e.WantWoken(batch, "sleepers")
	e.WantState(run.Job.ID, store.Available)
	e.Terminate(run.Job.ID)
	held := e.Held(env.Key("held"))
	if q := e.SendOrStart("held", "go"); q.Send.Result.Woken {
		e.Fatal("a job that a person holds is woken")
	}
	e.WantState(held.Job.ID, store.Waiting)
	e.Equal("messages", e.Names(held.Job.ID), []string{"go"})
}

func sendKept(e *env.Env) {
	for _, keep := range []time.Duration{300 * time.Hour, store.KeepForever} {
		key := keep.String()
		first := e.SendOrStart(key, "one", env.KeepKey(keep))
		e.End(e.ClaimOne(e.Join(), first.Job.ID), store.Completed)
		refuse := func() {
			e.Helper()
			q := e.Try(env.Key(key), env.Along("two"))
			e.WantErr("a signal to a job that has finished", q.Err, store.ErrConflict)
			e.WantUnknown(q.Job.ID)
			if q.Result != (store.EnqueueResult{}) || q.Send.Result != (store.SendResult{}) || q.Send.Err != nil {
				e.Fatalf("what was refused tells %+v, %+v, %v", q.Result, q.Send.Result, q.Send.Err)
			}
			again := *q // nothing of it has happened
			e.Apply(&store.Batch{Enqueues: []*store.Enqueue{&again}})
			e.WantErr("the same again", again.Err, store.ErrConflict)
		}
		refuse()
		e.Equal("messages", e.Names(first.Job.ID), []string{"one"})
		e.Retire()
		e.WantGone(first.Job.ID)
		if keep < 0 {
			refuse()
			e.WantKey(key, first.Job.ID)
		}
	}
}

func sendNext(e *env.Env) {
	node := e.Join()
	var before store.ID
	for round := range 3 {
		q := e.SendOrStart("k", "one", env.KeepKey(time.Minute))
		if q.Result.Existing || q.Result.ID == before {
			e.Fatalf("round %d: %+v", round, q.Result)
		}
		e.Equal("messages", e.Names(q.Job.ID), []string{"one"})
		e.End(e.ClaimOne(node, q.Job.ID), store.Completed)
		e.Clock.Advance(time.Minute)
		before = q.Job.ID
	}
}

func sendRepeated(e *env.Env) {
	first := e.SendOrStart("k", "one")
	e.WantRepeated(first, "one")
	second := e.SendOrStart("k", "two")
	e.WantRepeated(second, "one", "two")
	e.WantRepeated(first, "one", "two")
	// In one batch, too.
	third := e.Job(env.Key("k"), env.Along("three"))
	again := *third
	along := *third.Send
	again.Send = &along
	e.Enqueue(third, &again)
	if !again.Send.Result.Duplicate || again.Send.Result.Seq != 3 {
		e.Fatalf("the same in one batch: %+v", again.Send.Result)
	}
	e.Equal("messages", e.Names(first.Job.ID), []string{"one", "two", "three"})
	// A job whose enqueue sent nothing is sent to by its id.
	plain := e.Enqueue(e.Job(env.Key("plain")))[0]
	known := e.SendOrStart("plain", "late", env.ID(plain.Job.ID))
	if !known.Result.Existing || known.Send.Result.Seq != 1 {
		e.Fatalf("a known job: %+v, %+v", known.Result, known.Send.Result)
	}
	e.Cancel(plain.Job.ID)
	late := e.Try(env.Key("plain"), env.Along("too late"), env.ID(plain.Job.ID), func(q *store.Enqueue) { q.Job.Namespace = env.OtherSpace })
	e.WantErr("an id of another namespace", late.Err, store.ErrConflict)
}

func sendKnown(e *env.Env) {
	node := e.Join()
	first := e.SendOrStart("k", "one")
	second := e.SendOrStart("k", "two", env.Args("2"))
	e.End(e.ClaimOne(node, first.Job.ID), store.Completed)
	e.WantRepeated(first, "one", "two")
	e.WantRepeated(second, "one", "two")
	next := e.SendOrStart("k", "three")
	e.WantRepeated(second, "one", "two")
	e.Equal("messages", e.Names(next.Job.ID), []string{"three"})
	e.WantUnknown(second.Job.ID)
}

func sendForgotten(e *env.Env) {
	first := e.SendOrStart("k", "one")
	second := e.SendOrStart("k", "two")
	e.Clock.Advance(store.SentKept - time.Microsecond)
	e.Retain(env.Briefly)
	e.WantRepeated(second, "one", "two")
	e.Clock.Advance(time.Microsecond)
	e.Retain(env.Briefly)
	if again := e.Repeat(second); again.Send.Result.Duplicate || again.Send.Result.Seq != 3 || again.Result.ID != first.Job.ID {
		e.Fatalf("after a day: %+v, %+v", again.Result, again.Send.Result)
	}
}

func sendDedup(e *env.Env) {
	key := func(q *store.Enqueue) { q.Send.Key = "payment-7" }
	first := e.SendOrStart("k", "paid", key)
	second := e.SendOrStart("k", "paid", key)
	if first.Send.Result.Duplicate || !second.Send.Result.Duplicate || second.Send.Result.Seq != 1 || second.Result.ID != first.Job.ID {
		e.Fatalf("%+v, %+v", first.Send.Result, second.Send.Result)
	}
	e.WantRepeated(second, "paid")
	a, b := e.Job(env.Key("other"), env.Along("paid"), key), e.Job(env.Key("other"), env.Along("paid"), key)
	e.Enqueue(a, b)
	if a.Send.Result.Duplicate || !b.Send.Result.Duplicate {
		e.Fatalf("in one batch: %+v, %+v", a.Send.Result, b.Send.Result)
	}
	e.Equal("messages", e.Names(a.Job.ID), []string{"paid"})
}

func sendRequired(e *env.Env) {
	kept := e.TakeKey("kept", env.KeepKey(time.Hour))
	e.Cancel(kept)
	plain, refused := e.Job(), e.Job(env.Key("kept"), env.Along("s"))
	var batch store.Batch
	batch.Add(&store.Unit{Enqueues: []*store.Enqueue{plain, refused}})
	if err := e.Store.Apply(e.Ctx, &batch); !errors.Is(err, store.ErrRefused) {
		e.Fatalf("a batch that needs it: %v", err)
	}
	e.WantErr("the signal", refused.Err, store.ErrConflict)
	e.WantUnknown(plain.Job.ID)
	fine := e.Job(env.Key("free"), env.Along("s"))
	batch = store.Batch{}
	batch.Add(&store.Unit{Enqueues: []*store.Enqueue{plain, fine}})
	e.NoError("a batch that has what it needs", e.Store.Apply(e.Ctx, &batch))
	if fine.Send.Result.Seq != 1 || fine.Send.Job != fine.Job.ID {
		e.Fatalf("%+v", fine.Send)
	}
}
