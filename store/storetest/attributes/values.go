package attributes

import (
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var valueTests = env.Tests{
	"values_of_all_types_come_back":                            atEnqueue,
	"a_value_of_a_name_that_is_not_declared_so_is_dropped":     dropped,
	"what_cannot_be_a_value_is_refused":                        refused,
	"every_way_to_enqueue_sets_them":                           everyWay,
	"an_enqueue_that_inserts_nothing_sets_nothing":             insertsNothing,
	"NoLoss_a_repeated_enqueue_does_not_set_them_again":        repeatedEnqueue,
	"Replace_sets_those_that_it_has":                           replaces,
	"a_run_sets_and_takes_away_with_what_it_writes":            ofRuns,
	"the_last_word_of_a_batch_counts":                          lastWord,
	"StaleFence_a_run_that_was_lost_sets_nothing":              stale,
	"NoLoss_a_repeated_outcome_does_not_set_them_again":        repeated,
	"NoLoss_a_repeated_append_does_not_set_them_again":         repeatedAppend,
	"they_stay_when_the_job_is_retried_or_continues_as_new":    stay,
	"a_fork_has_those_that_it_was_given":                       forked,
	"they_go_with_their_job":                                   goWithJob,
	"a_job_of_a_namespace_that_has_not_declared_them_has_none": ofOtherSpace,
}

var allTypes = map[string]store.AttributeType{
	"customer": keyword, "amount": integer, "share": store.AttributeFloat, "paid": store.AttributeBool, "at": store.AttributeTime,
}

var (
	acme    = env.Searched("customer", store.KeywordValue("acme"))
	amount7 = env.Searched("amount", store.IntValue(7))
)

func sets(list ...store.Attribute) *store.Meta { return &store.Meta{Attributes: list} }

func customer(name string) store.Attribute {
	return store.Attribute{Name: "customer", Value: store.KeywordValue(name)}
}

func amount(n int64) store.Attribute {
	return store.Attribute{Name: "amount", Value: store.IntValue(n)}
}

func atEnqueue(e *env.Env) {
	e.Declare(allTypes)
	at := time.Date(1969, 12, 31, 23, 59, 59, 123_456_789, time.UTC)
	id := e.Add(
		env.Searched("share", store.FloatValue(-2.5)), env.Searched("paid", store.BoolValue(true)), env.Searched("at", store.TimeValue(at)),
		env.Searched("customer", store.KeywordValue("Ä \"x\" 漢字")), env.Searched("amount", store.IntValue(-7)),
	)
	want := []string{"amount=-7", "at=1969-12-31T23:59:59.123456Z", "customer=Ä \"x\" 漢字", "paid=true", "share=-2.5"}
	e.Equal("by Get", e.Values(id), want)
	e.Equal("by List", env.ValuesOf(e.List(store.Filter{}, 10)[0].Attributes), want)
	other := e.Add()
	e.Equal("of a job that has none", e.Get(other).Attributes, []store.Attribute(nil))
	run := e.ClaimOne(e.Join(), id)
	e.Equal("of a claimed job", len(run.Job.Attributes), 0)
}

func dropped(e *env.Env) {
	e.Declare(map[string]store.AttributeType{"amount": integer})
	id := e.Add(acme, env.Searched("amount", store.FloatValue(1)))
	e.Equal("values", e.Values(id), nil)
	run := e.ClaimOne(e.Join(), id)
	e.NoError("append", e.TryAppend(&store.Append{Lease: run.Lease, Entries: env.Steps(1, 1), Meta: sets(customer("x"), amount(1))}))
	e.Equal("values", e.Values(id), []string{"amount=1"})
	wrong := store.Attribute{Name: "amount", Value: store.KeywordValue("many")}
	e.NoError("append", e.TryAppend(&store.Append{Lease: run.Lease, Entries: env.Steps(2, 2), Meta: sets(wrong)}))
	e.Equal("values", e.Values(id), []string{"amount=1"})
}

func refused(e *env.Env) {
	e.Declare(allTypes)
	long := strings.Repeat("a", store.MaxKeyword+1)
	bad := []store.AttributeValue{
		{},
		{Type: 9, Data: "x"},
		store.KeywordValue(""), store.KeywordValue(long), store.KeywordValue("a\x00"), store.KeywordValue("\xff"),
		{Type: integer, Data: "1"},
		{Type: store.AttributeBool, Data: "\x02"},
		{Type: store.AttributeFloat, Data: strings.Repeat("\xff", 8)},
		{Type: store.AttributeTime, Data: strings.Repeat("\xff", 8)},
	}
	for _, v := range bad {
		q := e.Try(env.Searched("customer", v))
		e.WantErr("an enqueue with "+v.Type.String(), q.Err, store.ErrInvalid)
	}
	twice := e.Try(func(q *store.Enqueue) { q.Job.Attributes = []store.Attribute{customer("a"), customer("b")} })
	e.WantErr("one twice", twice.Err, store.ErrInvalid)
	e.WantErr("no name", e.Try(env.Searched("a b", store.IntValue(1))).Err, store.ErrInvalid)
	run := e.Started()
	for _, v := range bad[1:] {
		a := &store.Append{Lease: run.Lease, Entries: env.Steps(1, 1), Meta: sets(store.Attribute{Name: "customer", Value: v})}
		e.WantErr("an append", e.TryAppend(a), store.ErrInvalid)
	}
	e.Add(env.Searched("customer", store.KeywordValue(long[1:])))
}

func everyWay(e *env.Env) {
	e.Declare(allTypes)
	ids := map[string]store.ID{}
	node := e.Join()
	ids["started"] = e.StartNow(node, e.Job(acme))[0].Job.ID
	ids["plain"] = e.Add(acme)
	ids["unique"] = e.Add(acme, env.Unique("u", store.States...))
	ids["named"] = e.Add(acme, env.Key("k"))
	ids["ordered"] = e.Add(acme, env.Ordered("o"))
	ids["later"] = e.Add(acme, env.Delay(time.Hour))
	first := e.Job()
	follows := e.Job(acme, env.After(first.Job.ID))
	first.FollowUps = []*store.Enqueue{follows}
	e.Enqueue(first)
	ids["follow-up"] = follows.Job.ID
	awaits := e.Job(acme, env.After(first.Job.ID))
	e.Enqueue(awaits)
	ids["after"] = awaits.Job.ID
	run := e.ClaimOne(node, e.Add(env.Priority(1), env.Kind("push")))
	ids["child"] = e.Bear(&run, 1, acme)[0]
	fire := e.Fire(e.SaveSchedule(env.Schedule("nightly")), e.Clock.Now(), acme)
	e.Apply(env.Batched(fire))
	ids["fired"] = fire.Enqueues[0].Job.ID
	var all []store.ID
	for how, id := range ids {
		e.Equal(how, e.Values(id), []string{"customer=acme"})
		all = append(all, id)
	}
	e.WantSameIDs("found", e.ListIDs(matching("customer", store.AttributeIs, store.KeywordValue("acme"))), all...)
}

func insertsNothing(e *env.Env) {
	e.Declare(allTypes)
	q := e.Enqueue(e.Job(acme))[0]
	run := e.ClaimOne(e.Join(), q.Job.ID)
	unset := store.Attribute{Name: "customer"}
	e.NoError("append", e.TryAppend(&store.Append{Lease: run.Lease, Entries: env.Steps(1, 1), Meta: sets(unset, amount(1))}))
	again := &store.Enqueue{Job: q.Job, KnownID: true}
	e.Enqueue(again)
	e.Equal("a repeated enqueue is known", again.Result.Existing, true)
	e.Equal("after it was repeated", e.Values(q.Job.ID), []string{"amount=1"})
	holder := e.Add(acme, env.Unique("u", store.States...))
	e.Try(env.Unique("u", store.States...), env.Searched("customer", store.KeywordValue("other")), amount7)
	e.Equal("of the holder of a unique key", e.Values(holder), []string{"customer=acme"})
	named := e.Add(acme, env.Key("k"))
	e.Try(env.Key("k"), env.Searched("customer", store.KeywordValue("other")))
	e.Equal("of the holder of a business key", e.Values(named), []string{"customer=acme"})
}

// repeatedEnqueue: an enqueue whose answer was lost, and that is repeated later, meets its own job:
// what its run has set since stays, also if a unique key or a business key is what it meets.
func repeatedEnqueue(e *env.Env) {
	e.Declare(allTypes)
	node := e.Join()
	for what, key := range map[string]func(*store.Enqueue){
		"without a key": func(*store.Enqueue) {}, "with a unique key": env.Unique("u", store.States...), "with a business key": env.Key("k"),
	} {
		q := e.Enqueue(e.Job(acme, key))[0]
		run := e.ClaimOne(node, q.Job.ID)
		said := sets(store.Attribute{Name: "customer"}, amount(1))
		e.NoError("append", e.TryAppend(&store.Append{Lease: run.Lease, Entries: env.Steps(1, 1), Meta: said}))
		e.Clock.Advance(time.Second)
		again := &store.Enqueue{Job: q.Job, KnownID: true}
		e.Enqueue(again)
		if again.Result.ID != q.Job.ID || !again.Result.Existing {
			e.Fatalf("%s: the repeated enqueue is answered by %+v", what, again.Result)
		}
		e.Equal(what, e.Values(q.Job.ID), []string{"amount=1"})
	}
}

func replaces(e *env.Env) {
	e.Declare(allTypes)
	holder := e.Add(acme, amount7, env.Unique("u", store.States...), env.Delay(time.Hour))
	q := e.Try(env.Unique("u", store.States...), env.Searched("customer", store.KeywordValue("other")), func(q *store.Enqueue) {
		q.OnConflict = store.Replace
	})
	e.Equal("replaced", q.Result.Replaced, true)
	e.Equal("values", e.Values(holder), []string{"amount=7", "customer=other"})
}

func ofRuns(e *env.Env) {
	e.Declare(allTypes)
	run := e.Started(acme)
	id := run.Job.ID
	write := &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{Percent: 5}, Meta: sets(amount(1))}
	e.Apply(&store.Batch{Checkpoints: []*store.CheckpointWrite{write}})
	e.NoError("checkpoint", write.Err)
	e.Equal("a checkpoint", e.Values(id), []string{"amount=1", "customer=acme"})
	e.NoError("append", e.TryAppend(&store.Append{Lease: run.Lease, Entries: env.Steps(1, 1), Meta: sets(customer("b"))}))
	e.Equal("an append", e.Values(id), []string{"amount=1", "customer=b"})
	e.WantIDs("by the value before", e.ListIDs(matching("customer", store.AttributeIs, store.KeywordValue("acme"))))
	e.NoError("append", e.TryAppend(&store.Append{Lease: run.Lease, Meta: sets(store.Attribute{Name: "customer"}, amount(2))}))
	e.Equal("taken away", e.Values(id), []string{"amount=2"})
	e.NoError("append", e.TryAppend(&store.Append{Lease: run.Lease, Meta: sets(store.Attribute{Name: "customer"})}))
	run.Durable = true
	e.End(run, store.Completed, func(o *store.Outcome) { o.Meta = sets(customer("c")) })
	e.Equal("an outcome", e.Values(id), []string{"amount=2", "customer=c"})
	plain := e.ClaimOne(run.Lease.Node, e.Add())
	e.End(plain, store.Completed, func(o *store.Outcome) { o.Meta = sets(customer("c")) })
	e.WantIDs("found", e.ListIDs(matching("customer", store.AttributeIs, store.KeywordValue("c"))), plain.Job.ID, id)
}

func lastWord(e *env.Env) {
	e.Declare(allTypes)
	run := e.Started()
	share := store.Attribute{Name: "share", Value: store.FloatValue(0.5)}
	batch := &store.Batch{
		Checkpoints: []*store.CheckpointWrite{
			{Lease: run.Lease, Meta: sets(amount(1), customer("a"), share)}, {Lease: run.Lease, Meta: sets(amount(2))},
		},
		Appends:  []*store.Append{{Lease: run.Lease, Entries: env.Steps(1, 1), Meta: sets(amount(3), store.Attribute{Name: "customer"})}},
		Outcomes: []*store.Outcome{env.Outcome(run, store.Retryable, func(o *store.Outcome) { o.Meta, o.Durable = sets(amount(4)), true })},
	}
	e.Apply(batch)
	e.Equal("values", e.Values(run.Job.ID), []string{"amount=4", "share=0.5"})
}

func stale(e *env.Env) {
	e.Declare(allTypes)
	run := e.Started(amount7)
	e.Lose(run)
	e.WantErr("append", e.TryAppend(&store.Append{Lease: run.Lease, Entries: env.Steps(1, 1), Meta: sets(amount(1))}), store.ErrLeaseLost)
	e.WantErr("outcome", e.TryEnd(env.Outcome(run, store.Completed, func(o *store.Outcome) { o.Meta = sets(amount(1)) })), store.ErrLeaseLost)
	e.Equal("values", e.Values(run.Job.ID), []string{"amount=7"})
}

func repeated(e *env.Env) {
	e.Declare(allTypes)
	run := e.Started(env.Attempts(5))
	o := env.Outcome(run, store.Available, func(o *store.Outcome) { o.Meta = sets(amount(1)) })
	e.NoError("outcome", e.TryEnd(o))
	next := e.ClaimOne(run.Lease.Node, run.Job.ID)
	e.NoError("append", e.TryAppend(&store.Append{Lease: next.Lease, Meta: sets(amount(2))}))
	again := env.Outcome(run, store.Available, func(o *store.Outcome) { o.Meta, o.Repeat = sets(amount(1)), true })
	_ = e.TryEnd(again) // whether it is recognised after the next run has begun is told elsewhere
	e.Equal("values", e.Values(run.Job.ID), []string{"amount=2"})
}

func repeatedAppend(e *env.Env) {
	e.Declare(allTypes)
	run := e.Started()
	first := func() *store.Append {
		return &store.Append{Lease: run.Lease, Entries: env.Steps(1, 1), Meta: sets(amount(1))}
	}
	e.NoError("append", e.TryAppend(first()))
	e.NoError("append", e.TryAppend(&store.Append{Lease: run.Lease, Entries: env.Steps(2, 2), Meta: sets(amount(2))}))
	again := first()
	again.Repeat = true
	e.NoError("append", e.TryAppend(again))
	e.Equal("values", e.Values(run.Job.ID), []string{"amount=2"})
}

func stay(e *env.Env) {
	e.Declare(allTypes)
	run := e.Started(acme, amount7)
	id := run.Job.ID
	e.End(run, store.Failed)
	e.Equal("failed", e.Values(id), []string{"amount=7", "customer=acme"})
	e.Retry(id)
	run = e.ClaimOne(run.Lease.Node, id)
	e.Equal("retried", e.Values(id), []string{"amount=7", "customer=acme"})
	set := func(o *store.Outcome) { o.Meta = sets(amount(8)) }
	e.NoError("outcome", e.TryEnd(env.Outcome(run, store.Available, env.AsNew(`{"next":1}`), set)))
	e.Equal("continued as new", e.Values(id), []string{"amount=8", "customer=acme"})
}

func forked(e *env.Env) {
	e.Declare(allTypes)
	run := e.Durable(2, acme)
	e.End(run, store.Completed, func(o *store.Outcome) { o.Durable = true })
	e.Equal("a fork", e.Values(e.Fork(run.Job.ID, 1, acme, amount7)), []string{"amount=7", "customer=acme"})
	e.Equal("one without", e.Values(e.Fork(run.Job.ID, 1)), nil)
	e.Equal("the original", e.Values(run.Job.ID), []string{"customer=acme"})
}

func goWithJob(e *env.Env) {
	e.Declare(allTypes)
	deleted, kept := e.Started(acme), e.Add(acme)
	e.End(deleted, store.Completed)
	e.Delete(deleted.Job.ID)
	e.WantIDs("found", e.ListIDs(matching("customer", store.AttributeIs, store.KeywordValue("acme"))), kept)
	run := e.ClaimOne(e.Join(), kept)
	e.End(run, store.Completed)
	e.Clock.Advance(1000*time.Hour + env.Slack)
	e.Retain(store.Retention{Completed: time.Hour, Failed: time.Hour, Cancelled: time.Hour, Limit: 100})
	e.WantGone(kept)
	e.WantIDs("found", e.ListIDs(matching("customer", store.AttributeIs, store.KeywordValue("acme"))))
	e.Equal("the attribute has no values left", remove(e, 1), false)
}

func ofOtherSpace(e *env.Env) {
	e.Declare(allTypes)
	other := e.InOtherSpace()
	id := other.Add(acme)
	e.Equal("values", other.Values(id), nil)
}
