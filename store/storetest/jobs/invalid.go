package jobs

import (
	"errors"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var invalidTests = env.Tests{
	"an_invalid_enqueue_fails_alone":                          invalidEnqueues,
	"an_invalid_checkpoint_fails_alone":                       invalidCheckpoints,
	"an_outcome_with_a_time_that_no_calendar_has_fails_alone": invalidOutcomeTimes,
	"the_last_second_of_the_calendar_is_a_time_like_others":   lastTimes,
	"a_text_that_the_database_cannot_hold_fails_nothing":      hostileTexts,
	"what_is_odd_and_valid_is_taken":                          oddEnqueues,
}

// invalidEnqueues: a store refuses what breaks the rules of a job, such as a time that no calendar
// has, and does not take that for one that is long ago. A fork obeys the same rules.
func invalidEnqueues(e *env.Env) {
	before := time.Time{}.Add(-time.Microsecond)
	for name, spoil := range map[string]func(*store.Job){
		"no id":                    func(j *store.Job) { j.ID = store.ID{} },
		"no namespace":             func(j *store.Job) { j.Namespace = "" },
		"no queue":                 func(j *store.Job) { j.Queue = "" },
		"no kind":                  func(j *store.Job) { j.Kind = "" },
		"priority 0":               func(j *store.Job) { j.Priority = 0 },
		"priority 9":               func(j *store.Job) { j.Priority = 9 },
		"negative attempts":        func(j *store.Job) { j.MaxAttempts = -1 },
		"NUL in the kind":          func(j *store.Job) { j.Kind = "k\x00" },
		"NUL in a tag":             func(j *store.Job) { j.Tags = []string{"fine", "t\x00"} },
		"a tag that is no text":    func(j *store.Job) { j.Tags = []string{"\xff"} },
		"a key that is no text":    func(j *store.Job) { j.OrderingKey = "\xff" },
		"metadata that is no JSON": func(j *store.Job) { j.Metadata = []byte("{") },

		"a traceparent that is too long": func(j *store.Job) { j.Options.TraceParent = strings.Repeat("0", store.MaxTraceParent+1) },
		"a tracestate that is too long":  func(j *store.Job) { j.Options.TraceState = strings.Repeat("a", store.MaxTraceState+1) },
		"a tracestate that is no header": func(j *store.Job) { j.Options.TraceState = "a=\u00e4" },

		"a run time beyond the year 9999":         func(j *store.Job) { j.RunAt = env.BeyondTime },
		"a run time beyond what 64 bits can hold": func(j *store.Job) { j.RunAt = env.BeyondTime.AddDate(300_000, 0, 0) },
		"a run time before the year 1":            func(j *store.Job) { j.RunAt = before },
		"a deadline beyond the year 9999":         func(j *store.Job) { j.Options.Deadline = env.BeyondTime },
		"a deadline before the year 1":            func(j *store.Job) { j.Options.Deadline = before },
	} {
		first, bad, last := e.Job(), e.Job(), e.Job()
		spoil(&bad.Job)
		e.Apply(&store.Batch{Enqueues: []*store.Enqueue{first, bad, last}})
		if !errors.Is(bad.Err, store.ErrInvalid) || bad.Result.State != 0 {
			e.Errorf("%s: error is %v, result %+v", name, bad.Err, bad.Result)
		}
		for _, good := range []*store.Enqueue{first, last} {
			if good.Err != nil || e.Get(good.Job.ID).State != store.Available {
				e.Errorf("%s: its neighbour: %v", name, good.Err)
			}
		}
		if _, err := e.Store.Fork(e.Ctx, store.ForkParams{From: first.Job.ID, Job: bad.Job}); !errors.Is(err, store.ErrInvalid) {
			e.Errorf("%s: Fork: %v", name, err)
		}
		e.WantUnknown(bad.Job.ID)
	}
}

func invalidCheckpoints(e *env.Env) {
	run, other := e.Started(), e.Started()
	bad := &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{Value: []byte("{")}}
	good := &store.CheckpointWrite{Lease: other.Lease, Checkpoint: store.Checkpoint{Value: []byte(`{"n":9007199254740993}`)}}
	e.Apply(&store.Batch{Checkpoints: []*store.CheckpointWrite{bad, good}})
	if !errors.Is(bad.Err, store.ErrInvalid) || good.Err != nil {
		e.Fatalf("errors: %v, %v", bad.Err, good.Err)
	}
	if c := e.Get(run.Job.ID).Checkpoint; c != nil {
		e.Errorf("it was stored: %+v", c)
	}
	if c := e.Get(other.Job.ID).Checkpoint; c == nil || !env.SameJSON(c.Value, good.Checkpoint.Value) {
		e.Errorf("its neighbour: %+v", c)
	}
}

func oddEnqueues(e *env.Env) {
	odd := e.Job(func(q *store.Enqueue) {
		q.Job.MaxAttempts, q.Job.Args, q.Job.Tags = 0, nil, []string{"ä", " ", "'\"\\"}
	})
	e.Apply(&store.Batch{Enqueues: []*store.Enqueue{odd}})
	if odd.Err != nil {
		e.Fatalf("error: %v", odd.Err)
	}
	record := e.Get(odd.Job.ID)
	if record.MaxAttempts != 0 || len(record.Args) != 0 {
		e.Errorf("record: %+v", record)
	}
	e.Equal("tags", record.Tags, odd.Job.Tags)
}

// invalidOutcomeTimes: the run goes on, and can end otherwise.
func invalidOutcomeTimes(e *env.Env) {
	for name, spoil := range map[string]func(*store.Outcome){
		"retryable": func(o *store.Outcome) { o.State, o.RunAt = store.Retryable, env.BeyondTime },
		"scheduled": func(o *store.Outcome) { o.State, o.RunAt = store.Scheduled, env.BeyondTime.AddDate(300_000, 0, 0) },
		"before":    func(o *store.Outcome) { o.State, o.RunAt = store.Scheduled, time.Time{}.Add(-time.Hour) },
		"waiting":   func(o *store.Outcome) { o.State, o.Wait = store.Waiting, &store.Wait{Until: env.BeyondTime} },
	} {
		run, neighbour := e.Durable(1), e.Durable(1)
		bad := env.Outcome(run, store.Available, func(o *store.Outcome) { o.Reason, o.Error = store.ReasonError, "words" })
		spoil(bad)
		good := env.Outcome(neighbour, store.Retryable)
		e.Apply(&store.Batch{Outcomes: []*store.Outcome{bad, good}})
		if !errors.Is(bad.Err, store.ErrInvalid) || !bad.Due.IsZero() {
			e.Errorf("%s: error is %v, due at %v", name, bad.Err, bad.Due)
		}
		if record := e.Get(run.Job.ID); record.State != store.Running || len(record.Attempts) != 0 {
			e.Errorf("%s: the run goes on: %+v", name, record)
		}
		if good.Err != nil || good.Final != store.Retryable {
			e.Errorf("%s: its neighbour: %v, %v", name, good.Final, good.Err)
		}
		e.End(run, store.Completed)
		e.Terminate(neighbour.Job.ID)
	}
}

// lastTimes: the last second of the calendar, and years long gone, are times like others.
func lastTimes(e *env.Env) {
	last := time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)
	old := time.Date(1066, time.October, 14, 9, 0, 0, 0, time.UTC)
	scheduled := e.Add(env.RunAt(last), env.Deadline(last))
	if record := e.Get(scheduled); record.State != store.Scheduled || !record.RunAt.Equal(last) || !record.Options.Deadline.Equal(last) {
		e.Fatalf("record: %+v", record)
	}
	promoted, err := e.Store.Promote(e.Ctx, 10)
	if err != nil || promoted.Jobs != 0 || !promoted.NextDue.Equal(last) {
		e.Fatalf("Promote: %+v, %v", promoted, err)
	}
	node := e.Join()
	run := e.ClaimOne(node, e.Add(env.RunAt(old)))
	if !run.Job.RunAt.Equal(old) {
		e.Fatalf("a job of the year 1066 is from %v", run.Job.RunAt)
	}
	if o := e.End(run, store.Retryable, func(o *store.Outcome) { o.RunAt = last }); o.Final != store.Retryable || !o.Due.Equal(last) {
		e.Fatalf("it became %v, due at %v", o.Final, o.Due)
	}
	parked := e.Durable(1)
	if o := e.Park(parked, &store.Wait{Until: last}); o.Final != store.Waiting || !o.Due.Equal(last) {
		e.Fatalf("a park became %v, due at %v", o.Final, o.Due)
	}
	if until := e.Get(parked.Job.ID).Wait.Until; !until.Equal(last) {
		e.Fatalf("it waits until %v", until)
	}
	e.WantNothing(node)
	e.Retry(scheduled)
	e.ClaimOne(node, scheduled)
}

// hostileTexts: Reading: texts are for people, and a panic may say anything. PostgreSQL cannot hold
// NUL or bytes that are not UTF-8 in a text, so a store may replace those. It must write the rest,
// and everything else of the batch.
func hostileTexts(e *env.Env) {
	hostile := "words\x00 and \xff\xfe" + strings.Repeat("é", 100)
	wantLegible := func(what, text string) {
		e.Helper()
		if !strings.HasPrefix(text, "words") || !strings.HasSuffix(text, "é") {
			e.Fatalf("%s: %q", what, text)
		}
	}
	failed, held, saved := e.Durable(1), e.Durable(1), e.Started()
	e.Write(&failed, env.Entry(2, store.EntryCallback, "token"))
	answer := env.Callback(store.MessageCallbackFailed, "token")
	answer.Error = hostile
	batch := &store.Batch{
		Checkpoints: []*store.CheckpointWrite{{Lease: saved.Lease, Checkpoint: store.Checkpoint{Message: hostile}}},
		Appends: []*store.Append{
			{Lease: failed.Lease, Entries: []store.Entry{env.Entry(3, store.EntryStep, hostile)}}, {Lease: held.Lease, Entries: env.Steps(2, 2)},
		},
		Sends: []*store.Send{
			{Job: failed.Job.ID, Message: env.Signal(hostile)}, {Job: failed.Job.ID, Message: answer}, {Job: held.Job.ID, Message: env.Signal("s")},
		},
		Outcomes: []*store.Outcome{
			env.Outcome(failed, store.Failed, func(o *store.Outcome) { o.Error, o.Trace = hostile, hostile }),
			env.Outcome(held, store.Waiting, func(o *store.Outcome) {
				o.Wait, o.Reason, o.Error = &store.Wait{Held: true}, store.ReasonNondeterminism, hostile
			}),
			env.Outcome(saved, store.Completed),
		},
	}
	e.Apply(batch)
	for _, a := range batch.Appends {
		e.NoError("append", a.Err)
	}
	for _, q := range batch.Sends {
		e.NoError("send", q.Err)
	}
	for _, o := range batch.Outcomes {
		e.NoError("outcome", o.Err)
		e.WantState(o.Lease.Job, o.State)
	}
	e.NoError("checkpoint", batch.Checkpoints[0].Err)
	wantLegible("the error of a run", e.Get(failed.Job.ID).Error)
	wantLegible("the name of an entry", e.WantEntries(failed.Job.ID, 3)[2].Name)
	wantLegible("the error of a callback", e.Messages(failed.Job.ID)[1].Error)
	e.WantEntries(held.Job.ID, 2)

	running, waiting := e.Durable(1), e.Add()
	ids := []store.ID{waiting, running.Job.ID}
	results, _, err := e.Store.PauseJobs(e.Ctx, store.PauseJobsParams{Jobs: ids, Reason: hostile, Actor: hostile})
	e.WantAnswers(results, err, ids, store.Result{State: store.Waiting}, store.Result{State: store.Running})
	e.EndAs(store.Waiting, running, store.Available)
	for _, id := range append(ids, held.Job.ID) {
		wantLegible("why a job is held", e.Get(id).Wait.Error)
		resumed := env.Resumption(id)
		resumed.Reason, resumed.Actor = hostile, hostile
		e.Resume(resumed, store.Available)
	}
	results, _, err = e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: ids[:1], Reason: hostile, Actor: hostile})
	e.WantAnswers(results, err, ids[:1], store.Result{State: store.Cancelled})
}
