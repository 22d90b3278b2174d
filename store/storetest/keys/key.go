package keys

import (
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var keyTests = env.Tests{
	"UniqueIsUnique_within_a_batch_the_first_gets_the_key":      keyWithinBatch,
	"a_key_is_held_until_its_job_finishes_or_longer":            keyStates,
	"a_key_is_free_when_its_job_has_finished_by_any_clock":      keyClock,
	"a_key_is_one_of_a_namespace_and_a_kind":                    keySpaces,
	"a_key_is_any_text_of_512_bytes":                            keyTexts,
	"UniqueIsUnique_a_repeated_enqueue_does_not_take_it_back":   keyRepeated,
	"who_attaches_with_other_args_is_told":                      keyDiffers,
	"what_makes_no_sense_with_a_key_is_refused":                 keyInvalid,
	"a_conflict_of_keys_is_never_rejected_and_replaces_nothing": keyConflict,
	"a_job_with_a_key_does_not_start_with_its_enqueue":          keyStart,
	"a_list_by_key_has_the_job_that_has_it":                     keyList,
	"all_that_is_known_of_a_job_tells_of_its_key":               keyRecord,
}

func keyWithinBatch(e *env.Env) {
	first, other, second := e.Job(env.Key("a")), e.Job(env.Key("b")), e.Job(env.Key("a"), env.Args("2"))
	plain, third := e.Job(), e.Job(env.Key("a"), env.Unique(""))
	e.Apply(&store.Batch{Enqueues: []*store.Enqueue{first, plain, other, second, third}})
	for _, q := range []*store.Enqueue{first, plain, other} {
		if q.Err != nil || q.Result.ID != q.Job.ID || q.Result.Existing {
			e.Fatalf("inserted: %+v, %v", q.Result, q.Err)
		}
	}
	for i, q := range []*store.Enqueue{third, second} {
		if q.Err != nil || q.Result.ID != first.Job.ID || !q.Result.Existing || q.Result.Differs != (i == 1) {
			e.Fatalf("attached: %+v, %v", q.Result, q.Err)
		}
	}
	e.WantSameIDs("claimed", env.ClaimedIDs(e.Claim(e.Join(), 10)), first.Job.ID, plain.Job.ID, other.Job.ID)
}

// keyStates walks jobs through their lives and looks, in each state, who has the key.
func keyStates(e *env.Env) {
	node := e.Join()
	for _, c := range []struct {
		key  string
		keep time.Duration
		ends store.State
	}{
		{"while it is unfinished", 0, store.Completed},
		{"until it fails", 0, store.Failed},
		{"until it is cancelled", 0, store.Cancelled},
		{"an hour longer", time.Hour, store.Completed},
		{"an hour after it fails", time.Hour, store.Failed},
		{"for ever", store.KeepForever, store.Completed},
		{"for ever, though it is cancelled", store.KeepForever, store.Cancelled},
	} {
		id := e.TakeKey(c.key, env.KeepKey(c.keep), env.Delay(time.Minute), env.Attempts(9))
		e.WantKey(c.key, id)
		e.Clock.Advance(time.Minute)
		e.Promote()
		e.WantKey(c.key, id)
		run := e.ClaimOne(node, id)
		e.WantKey(c.key, id)
		e.End(run, store.Retryable)
		e.WantKey(c.key, id)
		e.Clock.Advance(time.Minute)
		run = e.ClaimOne(node, id)
		e.Write(&run, env.Step(1))
		e.Park(run, env.ForSignals())
		e.WantKey(c.key, id)
		e.PauseJob(id, store.Waiting)
		e.WantKey(c.key, id)
		e.Resume(env.Resumption(id), store.Available)
		e.End(e.ClaimOne(node, id), c.ends)
		if found := e.Find(c.key); found != id {
			e.Fatalf("%s: the last job that had the key is %v, want %v", c.key, found, id)
		}
		if c.keep > 0 {
			e.Clock.Advance(c.keep - time.Microsecond)
			e.WantKey(c.key, id)
			e.Clock.Advance(time.Microsecond)
		}
		if c.keep < 0 {
			e.Clock.Advance(1000 * time.Hour)
			e.WantKey(c.key, id)
			continue
		}
		next := e.TakeKey(c.key)
		e.WantKey(c.key, next)
		e.Cancel(next)
	}
}

// keyClock ends jobs in a process whose clock is ahead of that of the next one.
func keyClock(e *env.Env) {
	const ahead = time.Minute
	free, kept := e.TakeKey("free"), e.TakeKey("kept", env.KeepKey(time.Hour))
	e.Clock.Advance(ahead)
	e.Cancel(free)
	e.Cancel(kept)
	e.Clock.Advance(-ahead)
	next := e.SendOrStart("free", "note")
	if next.Err != nil || next.Result.Existing {
		e.Fatalf("the key is not free: %+v, %v", next.Result, next.Err)
	}
	e.WantKey("free", next.Job.ID)
	e.WantKey("kept", kept)
	e.Clock.Advance(ahead + time.Hour)
	e.WantKey("kept", e.TakeKey("kept"))
}

func keySpaces(e *env.Env) {
	there := e.InOtherSpace()
	here := e.TakeKey("order-42")
	elsewhere := there.TakeKey("order-42")
	kind := e.Try(env.Key("order-42"), env.Kind("bill"))
	if kind.Err != nil || kind.Result.Existing {
		e.Fatalf("the key of another kind: %+v, %v", kind.Result, kind.Err)
	}
	// A queue and a version make no difference.
	bound := e.Try(env.Key("order-42"), env.Queue("other"), env.Version("v2"), env.Priority(1))
	if bound.Err != nil || bound.Result.ID != here {
		e.Fatalf("the key in another queue: %+v, %v", bound.Result, bound.Err)
	}
	e.WantKey("order-42", here)
	there.WantKey("order-42", elsewhere)
	for _, key := range []store.JobKey{
		{Namespace: "nowhere", Kind: "send", Key: "order-42"},
		{Namespace: env.Namespace, Kind: "none", Key: "order-42"},
		{Namespace: env.Namespace, Kind: "send", Key: "order-4"},
		{Namespace: env.Namespace, Kind: "send", Key: ""},
		{Namespace: env.Namespace, Kind: "send", Key: "a\x00b\xff"},
		{Kind: "send", Key: "order-42"},
		{Namespace: env.Namespace, Kind: "Send", Key: "order-42"},
		{Namespace: env.Namespace, Kind: "send", Key: "ORDER-42"},
	} {
		_, err := e.Store.Find(e.Ctx, key)
		e.WantErr("Find of "+key.Key, err, store.ErrNotFound)
	}
	// A job that is bound to a version has its key by its kind, too.
	version := e.TakeKey("order-43", env.Version("v2"))
	e.WantKey("order-43", version)
}

func keyTexts(e *env.Env) {
	for _, text := range []string{
		"x", strings.Repeat("k", store.MaxKey), strings.Repeat("😀", store.MaxKey/4),
		"a b", "'\"\\ %_", "  ", "a\u2028b", "ü", "u\u0308", "<&>",
		"\u202e", "null", "{}",
	} {
		id := e.TakeKey(text)
		e.WantKey(text, id)
		if key := e.Get(id).Options.Key; key != text {
			e.Fatalf("the key %q became %q", text, key)
		}
		e.Equal("key of the claim", e.ClaimOne(e.Join(), id).Job.Options.Key, text)
	}
	for _, text := range []string{
		strings.Repeat("k", store.MaxKey+1), strings.Repeat("😀", store.MaxKey/4) + "k", "a\x00", "\xff", "a\nb", "\u0085", "\x7f",
	} {
		q := e.Try(env.Key(text))
		e.WantErr("a key that is none", q.Err, store.ErrInvalid)
		e.WantUnknown(q.Job.ID)
	}
}

// keyRepeated: the id is looked at before the key.
func keyRepeated(e *env.Env) {
	q := e.Job(env.Key("k"))
	e.Enqueue(q)
	again := func() {
		e.Helper()
		repeated := *q
		e.Enqueue(&repeated)
		if repeated.Result.ID != q.Job.ID || !repeated.Result.Existing || repeated.Result.Differs {
			e.Fatalf("repeated enqueue: %+v", repeated.Result)
		}
	}
	again()
	e.WantKey("k", q.Job.ID)
	e.End(e.ClaimOne(e.Join(), q.Job.ID), store.Completed)
	again()
	other := e.TakeKey("k")
	again()
	e.WantKey("k", other)
	// Nor does one of another namespace.
	stranger := e.InOtherSpace().Try(env.Key("k"), env.ID(q.Job.ID))
	e.WantErr("an id of another namespace", stranger.Err, store.ErrConflict)
	e.InOtherSpace().WantNoKey("k")
}

func keyDiffers(e *env.Env) {
	id := e.TakeKey("k", env.Args(`{"a":1,"b":[2,null]}`), env.KeepKey(time.Hour))
	check := func(holder store.ID) {
		e.Helper()
		for args, differs := range map[string]bool{
			`{"a":1,"b":[2,null]}`: false, "{ \"b\" : [2, null],\n\"a\":1}": false, `{"a":1,"b":[null,2]}`: true, `{"a":1}`: true, `{"a":"1"}`: true,
			`{"a":1.0,"b":[2,null]}`: true, "not JSON": true, "": true,
		} {
			q := e.Try(env.Key("k"), env.Args(args))
			if q.Err != nil || q.Result.ID != holder || q.Result.Differs != differs {
				e.Fatalf("args %s: %+v, %v", args, q.Result, q.Err)
			}
		}
		codec := e.Try(env.Key("k"), env.Args(`{"a":1,"b":[2,null]}`), func(q *store.Enqueue) { q.Job.Codec = 3 })
		if !codec.Result.Differs {
			e.Fatal("another codec makes no difference")
		}
	}
	check(id)
	// The args that count are those of the enqueue, though the job has others by now.
	run := e.ClaimOne(e.Join(), id)
	e.Write(&run, env.Step(1))
	e.End(run, store.Available, func(o *store.Outcome) { o.Continue = &store.Continue{Args: []byte(`{"a":2}`)} })
	check(id)
	e.End(e.ClaimOne(e.Join(), id), store.Completed)
	check(id)
	e.Clock.Advance(time.Hour)
	next := e.TakeKey("k", env.Args("9"), env.KeepKey(store.KeepForever))
	if q := e.Try(env.Key("k"), env.Args("9")); q.Result.ID != next || q.Result.Differs {
		e.Fatalf("the args of the job that took the key: %+v", q.Result)
	}
	if q := e.Try(env.Key("k"), env.Args(`{"a":1,"b":[2,null]}`)); !q.Result.Differs {
		e.Fatal("the args of the job that had the key before make no difference")
	}
	e.Cancel(next)
	e.Retire()
	e.WantGone(next)
	e.WantKey("k", next)
	for args, differs := range map[string]bool{"9": false, "10": true} {
		if q := e.Try(env.Key("k"), env.Args(args)); q.Result.ID != next || q.Result.Differs != differs {
			e.Fatalf("args %s when the job is gone: %+v", args, q.Result)
		}
	}
}

func keyInvalid(e *env.Env) {
	run := e.Started()
	child := e.Child(run.Job.ID, env.Key("k"))
	a := &store.Append{Lease: run.Lease, Entries: []store.Entry{{Seq: 1, Kind: store.EntryChild}}, Enqueues: []*store.Enqueue{child}}
	e.WantErr("a child with a key", e.TryAppend(a), store.ErrInvalid)
	fork := e.Job(env.Key("k")).Job
	_, err := e.Store.Fork(e.Ctx, store.ForkParams{From: run.Job.ID, Job: fork})
	e.WantErr("a fork with a key", err, store.ErrInvalid)
	callback := func(q *store.Enqueue) { q.Send = &store.Send{Message: env.Callback(store.MessageCallback, "token")} }
	for what, change := range map[string][]func(*store.Enqueue){
		"a unique key, too":      {env.Key("k"), env.Unique("u")},
		"nothing to keep":        {env.KeepKey(time.Hour)},
		"a signal without a key": {env.Along("s")},
		"a callback":             {env.Key("k"), callback},
		"a wrong codec":          {env.Key("k"), env.Along("s"), func(q *store.Enqueue) { q.Send.Message.Codec = -1 }},
	} {
		q := e.Try(change...)
		e.WantErr(what, q.Err, store.ErrInvalid)
		e.WantUnknown(q.Job.ID)
	}
	e.WantNoKey("k")
}

func keyConflict(e *env.Env) {
	id := e.TakeKey("k")
	for _, rule := range []store.OnConflict{store.Reject, store.Replace} {
		q := e.Try(env.Key("k"), env.OnConflict(rule), env.Args("2"))
		if q.Err != nil || q.Result.ID != id || q.Result.Replaced {
			e.Fatalf("conflict %d: %+v, %v", rule, q.Result, q.Err)
		}
	}
	e.Equal("args", string(e.Get(id).Args), `{"to":"ada"}`)
}

func keyStart(e *env.Env) {
	node := e.Join()
	q := e.Job(env.Key("k"), func(q *store.Enqueue) { q.Start = true })
	batch := &store.Batch{Enqueues: []*store.Enqueue{q}, Start: &store.Start{Node: node, Seq: 1}}
	e.Apply(batch)
	if q.Result.State != store.Available || len(batch.Start.Claimed) != 0 {
		e.Fatalf("%+v, claimed %v", q.Result, batch.Start.Claimed)
	}
	e.ClaimOne(node, q.Job.ID)
}

func keyList(e *env.Env) {
	byKey := func(kinds ...string) store.Filter {
		return store.Filter{Namespace: env.Namespace, Kinds: kinds, Key: "order-42"}
	}
	gone := e.TakeKey("order-42")
	e.Cancel(gone)
	id := e.TakeKey("order-42")
	bill := e.Add(env.Key("order-42"), env.Kind("bill"))
	e.InOtherSpace().TakeKey("order-42")
	e.Add(env.Key("order-43"))
	e.Add()
	e.WantIDs("jobs of the key", e.ListIDs(byKey("send")), id)
	e.WantIDs("jobs of the key and two kinds", e.ListIDs(byKey("send", "bill", "none")), bill, id)
	e.WantIDs("jobs of no such kind", e.ListIDs(byKey("none")))
	running := byKey("send")
	running.States = []store.State{store.Running}
	e.WantIDs("running jobs of the key", e.ListIDs(running))
	tagged := byKey("send")
	tagged.Tags = []string{"none"}
	e.WantIDs("tagged jobs of the key", e.ListIDs(tagged))
	for _, filter := range []store.Filter{{Key: "order-42", Kinds: []string{"send"}}, {Key: "order-42", Namespace: env.Namespace}} {
		_, err := e.Store.List(e.Ctx, store.ListParams{Filter: filter, Limit: 10})
		e.WantErr("a list by key alone", err, store.ErrInvalid)
	}
}

func keyRecord(e *env.Env) {
	id := e.TakeKey("order-42", env.KeepKey(90*time.Minute))
	record := e.Get(id)
	if record.Options.Key != "order-42" || record.Options.KeepKey != 90*time.Minute || record.Key() != e.KeyOf("order-42") {
		e.Fatalf("record: %+v", record.Options)
	}
	e.Equal("listed", e.List(store.Filter{Namespace: env.Namespace}, 10)[0].Options, record.Options)
	e.Equal("claimed", e.ClaimOne(e.Join(), id).Job.Options, record.Options)
}
