package lists

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var metaTests = env.Tests{
	"what_a_run_says_is_written_with_what_it_writes":         metaWritten,
	"what_a_run_says_at_its_end_stays_in_every_state":        metaAtEnd,
	"the_last_word_of_a_batch_counts":                        metaLast,
	"NoLoss_what_was_said_is_not_said_again_by_a_repetition": metaRepeat,
	"StaleFence_a_run_that_was_lost_says_nothing":            metaStale,
	"what_is_not_JSON_is_not_said":                           metaInvalid,
	"a_run_and_a_person_say_things_in_turn":                  metaAndEdit,
	"what_a_run_that_continues_as_new_said_stays":            metaContinue,
}

func says(metadata string, tags ...string) *store.Meta {
	m := &store.Meta{Tags: tags}
	if metadata != "" {
		m.Metadata = []byte(metadata)
	}
	return m
}

// wantWords checks the metadata and the tags of a job.
func wantWords(e *env.Env, what string, id store.ID, metadata string, tags ...string) {
	e.Helper()
	if r := e.Get(id); string(r.Metadata) != metadata || !slices.Equal(r.Tags, tags) {
		e.Fatalf("%s: the metadata is %s and the tags are %q, want %s and %q", what, r.Metadata, r.Tags, metadata, tags)
	}
}

// save writes a checkpoint that says something of its job.
func save(e *env.Env, run store.Claimed, m *store.Meta) error {
	e.Helper()
	w := &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{Percent: 5}, Meta: m}
	e.Apply(&store.Batch{Checkpoints: []*store.CheckpointWrite{w}})
	return w.Err
}

func metaWritten(e *env.Env) {
	run := e.Started(func(q *store.Enqueue) { q.Job.Tags, q.Job.Metadata = []string{"a"}, []byte(`{"n":0}`) })
	id := run.Job.ID
	e.NoError("checkpoint", save(e, run, says(`{"n":1}`)))
	wantWords(e, "a checkpoint", id, `{"n":1}`, "a")
	e.NoError("checkpoint", save(e, run, says("", "b", "c")))
	wantWords(e, "tags", id, `{"n":1}`, "b", "c")
	e.NoError("append", e.TryAppend(&store.Append{Lease: run.Lease, Entries: env.Steps(1, 2), Meta: says(`{"n":2}`, "d")}))
	wantWords(e, "an append", id, `{"n":2}`, "d")
	e.NoError("checkpoint", save(e, run, &store.Meta{}))
	wantWords(e, "nothing", id, `{"n":2}`, "d")
	e.NoError("checkpoint", save(e, run, &store.Meta{Tags: []string{}}))
	wantWords(e, "no tags", id, `{"n":2}`)
	e.NoError("append", e.TryAppend(&store.Append{Lease: run.Lease, Meta: says("", "alone")}))
	wantWords(e, "an append without entries", id, `{"n":2}`, "alone")
	e.WantIDs("listed by its tag", e.ListIDs(store.Filter{Tags: []string{"alone"}}), id)
	if record := e.Get(id); len(record.Actions) != 0 {
		e.Fatalf("what a run says is nobody's action: %+v", record.Actions)
	}
	run.Durable = true
	e.End(run, store.Retryable)
	e.Later(run.Lease.Node, time.Minute)
	again := e.ClaimOne(run.Lease.Node, id)
	if string(again.Job.Metadata) != `{"n":2}` || !slices.Equal(again.Job.Tags, []string{"alone"}) {
		e.Fatalf("the next run has %s and %q", again.Job.Metadata, again.Job.Tags)
	}
}

func metaAtEnd(e *env.Env) {
	node := e.Join()
	for _, durable := range []bool{false, true} {
		for _, state := range statesOf(durable) {
			run := e.ClaimOne(node, e.Add(env.Priority(1), env.Kind("push")))
			if durable {
				e.Write(&run, env.Step(1))
			}
			o := e.End(run, state, func(o *store.Outcome) { o.Meta, o.Durable = says(`{"end":"`+state.String()+`"}`, "x"), durable })
			if o.Final != state {
				e.Fatalf("%s became %s", state, o.Final)
			}
			wantWords(e, state.String(), run.Job.ID, `{"end":"`+state.String()+`"}`, "x")
			if state == store.Available {
				e.Terminate(run.Job.ID)
			}
		}
	}
	// What becomes of it otherwise is another state; what it said stays.
	asked := e.ClaimOne(node, e.Add(env.Priority(1)))
	e.Cancel(asked.Job.ID)
	e.EndAs(store.Cancelled, asked, store.Retryable, func(o *store.Outcome) { o.Meta = says(`{"asked":1}`) })
	wantWords(e, "asked to stop", asked.Job.ID, `{"asked":1}`)
}

func statesOf(durable bool) []store.State {
	if durable {
		return append(slices.Clone(env.EndStates), store.Waiting)
	}
	return env.EndStates
}

func metaLast(e *env.Env) {
	runs := e.Running(3)
	a, b, c := runs[0], runs[1], runs[2]
	batch := &store.Batch{
		Checkpoints: []*store.CheckpointWrite{
			{Lease: a.Lease, Meta: says(`{"n":1}`, "first")}, {Lease: a.Lease, Meta: says("", "second")}, {Lease: b.Lease, Meta: says("", "b")},
		},
		Appends: []*store.Append{{Lease: a.Lease, Entries: env.Steps(1, 1), Meta: says(`{"n":2}`)}},
		Outcomes: []*store.Outcome{
			env.Outcome(b, store.Completed, func(o *store.Outcome) { o.Meta = says(`{"b":1}`) }), env.Outcome(c, store.Failed),
		},
	}
	e.Apply(batch)
	for _, o := range batch.Outcomes {
		e.NoError("outcome", o.Err)
	}
	wantWords(e, "a checkpoint and an append", a.Job.ID, `{"n":2}`, "second")
	wantWords(e, "a checkpoint and the end", b.Job.ID, `{"b":1}`, "b")
	wantWords(e, "an end that says nothing", c.Job.ID, "")
}

func metaRepeat(e *env.Env) {
	run := e.Started()
	id := run.Job.ID
	said := func() *store.Append {
		return &store.Append{Lease: run.Lease, Entries: env.Steps(1, 1), Meta: says(`{"by":"run"}`, "run")}
	}
	e.NoError("append", e.TryAppend(said()))
	run.Durable = true
	person := store.Edit{Metadata: []byte(`{"by":"ada"}`), Tags: &[]string{"ada"}}
	e.Edit(id, person, store.Running)
	again := said()
	again.Repeat = true
	e.NoError("repeated append", e.TryAppend(again))
	wantWords(e, "a repeated append", id, `{"by":"ada"}`, "ada")
	for _, state := range []store.State{store.Retryable, store.Waiting, store.Completed} {
		o := env.Outcome(run, state, func(o *store.Outcome) { o.Meta, o.Durable, o.Delay = says(`{"by":"run"}`), true, time.Microsecond })
		if state == store.Waiting {
			o.Wait = &store.Wait{Until: e.Clock.Now().Add(time.Second)}
		}
		e.NoError("outcome", e.TryEnd(o))
		wantWords(e, state.String(), id, `{"by":"run"}`, "ada")
		e.Edit(id, person, state)
		e.WantKnown(o)
		wantWords(e, "a repeated "+state.String(), id, `{"by":"ada"}`, "ada")
		if state != store.Completed {
			e.Later(run.Lease.Node, time.Second)
			run = e.ClaimOne(run.Lease.Node, id)
		}
	}
}

func metaStale(e *env.Env) {
	run := e.Started(func(q *store.Enqueue) { q.Job.Tags, q.Job.Metadata = []string{"a"}, []byte(`{"n":0}`) })
	e.Lose(run)
	next := e.ClaimOne(e.Join(), run.Job.ID)
	for _, lease := range []store.Claimed{run, {Job: store.Job{ID: e.IDs.Next()}, Lease: store.Lease{Job: e.IDs.Next(), Number: 1, Node: 1}}} {
		m := says(`{"stale":true}`, "stale")
		e.WantErr("checkpoint", save(e, lease, m), store.ErrLeaseLost)
		e.WantErr("append", e.TryAppend(&store.Append{Lease: lease.Lease, Entries: env.Steps(1, 1), Meta: m}), store.ErrLeaseLost)
		e.WantErr("append of nothing", e.TryAppend(&store.Append{Lease: lease.Lease, Meta: m}), store.ErrLeaseLost)
		for _, state := range env.EndStates {
			e.WantErr("outcome", e.TryEnd(env.Outcome(lease, state, func(o *store.Outcome) { o.Meta = m })), store.ErrLeaseLost)
		}
	}
	wantWords(e, "after a stale run", run.Job.ID, `{"n":0}`, "a")
	e.End(next, store.Completed)
	for _, repeat := range []bool{false, true} {
		o := env.Outcome(run, store.Failed, func(o *store.Outcome) { o.Meta, o.Repeat = says(`{"stale":true}`), repeat })
		e.WantErr("outcome after the end", e.TryEnd(o), store.ErrLeaseLost)
	}
	wantWords(e, "after the end", run.Job.ID, `{"n":0}`, "a")
}

func metaInvalid(e *env.Env) {
	run := e.Started()
	for _, m := range []*store.Meta{says(`{`), says("{\"a\":\"\xff\"}"), says("", "\x00"), says(`{}`, "\xff")} {
		e.WantErr("checkpoint", save(e, run, m), store.ErrInvalid)
		e.WantErr("append", e.TryAppend(&store.Append{Lease: run.Lease, Entries: env.Steps(1, 1), Meta: m}), store.ErrInvalid)
		e.WantErr("outcome", e.TryEnd(env.Outcome(run, store.Completed, func(o *store.Outcome) { o.Meta = m })), store.ErrInvalid)
	}
	wantWords(e, "what is invalid", run.Job.ID, "")
	e.WantEntries(run.Job.ID, 0)
	e.End(run, store.Completed)
}

func metaAndEdit(e *env.Env) {
	run := e.Started()
	id := run.Job.ID
	e.NoError("checkpoint", save(e, run, says(`{"by":"run"}`, "r")))
	e.Edit(id, store.Edit{Metadata: []byte(`{"by":"ada"}`), AddTags: []string{"a"}}, store.Running)
	wantWords(e, "a person", id, `{"by":"ada"}`, "r", "a")
	e.End(run, store.Completed, func(o *store.Outcome) { o.Meta = says(`{"by":"the end"}`) })
	wantWords(e, "the end", id, `{"by":"the end"}`, "r", "a")
	e.Edit(id, store.Edit{DropTags: []string{"r"}}, store.Completed)
	wantWords(e, "a person after it", id, `{"by":"the end"}`, "a")
}

func metaContinue(e *env.Env) {
	run := e.Durable(2)
	o := env.Outcome(run, store.Available, env.AsNew(`{"next":1}`), func(o *store.Outcome) { o.Meta = says(`{"round":2}`, "t") })
	e.NoError("outcome", e.TryEnd(o))
	wantWords(e, "continued", run.Job.ID, `{"round":2}`, "t")
	next := e.ClaimOne(run.Lease.Node, run.Job.ID)
	if string(next.Job.Args) != `{"next":1}` || string(next.Job.Metadata) != `{"round":2}` {
		e.Fatalf("the next run: %+v", next.Job)
	}
}
