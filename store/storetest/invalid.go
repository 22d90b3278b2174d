package storetest

import (
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// beyondTime is one that no store keeps.
var beyondTime = time.Date(10_000, time.January, 1, 0, 0, 0, 0, time.UTC)

var invalidTests = []test{
	{"an_invalid_enqueue_fails_alone", invalidEnqueues},
	{"an_invalid_checkpoint_fails_alone", invalidCheckpoints},
	{"a_job_with_a_time_that_no_calendar_has_fails_alone", invalidTimes},
	{"an_outcome_with_a_time_that_no_calendar_has_fails_alone", invalidOutcomeTimes},
	{"the_last_second_of_the_calendar_is_a_time_like_others", lastTimes},
	{"what_is_odd_and_valid_is_taken", oddEnqueues},
}

func invalidEnqueues(e *env) {
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
	} {
		before, bad, after := e.job(), e.job(), e.job()
		spoil(&bad.Job)
		e.apply(&store.Batch{Enqueues: []*store.Enqueue{before, bad, after}})
		if !errors.Is(bad.Err, store.ErrInvalid) || bad.Result.State != 0 {
			e.Errorf("%s: error is %v, result %+v", name, bad.Err, bad.Result)
		}
		for _, good := range []*store.Enqueue{before, after} {
			if good.Err != nil || e.get(good.Job.ID).State != store.Available {
				e.Errorf("%s: its neighbour: %v", name, good.Err)
			}
		}
	}
}

func invalidCheckpoints(e *env) {
	run, other := e.started(), e.started()
	bad := &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{Value: []byte("{")}}
	good := &store.CheckpointWrite{Lease: other.Lease, Checkpoint: store.Checkpoint{Value: []byte(`{"n":9007199254740993}`)}}
	e.apply(&store.Batch{Checkpoints: []*store.CheckpointWrite{bad, good}})
	if !errors.Is(bad.Err, store.ErrInvalid) || good.Err != nil {
		e.Fatalf("errors: %v, %v", bad.Err, good.Err)
	}
	if c := e.get(run.Job.ID).Checkpoint; c != nil {
		e.Errorf("it was stored: %+v", c)
	}
	if c := e.get(other.Job.ID).Checkpoint; c == nil || !sameJSON(c.Value, good.Checkpoint.Value) {
		e.Errorf("its neighbour: %+v", c)
	}
}

func oddEnqueues(e *env) {
	odd := e.job(func(q *store.Enqueue) {
		q.Job.MaxAttempts, q.Job.Args, q.Job.Tags = 0, nil, []string{"ä", " ", "'\"\\"}
	})
	e.apply(&store.Batch{Enqueues: []*store.Enqueue{odd}})
	if odd.Err != nil {
		e.Fatalf("error: %v", odd.Err)
	}
	record := e.get(odd.Job.ID)
	if record.MaxAttempts != 0 || len(record.Args) != 0 {
		e.Errorf("record: %+v", record)
	}
	e.equal("tags", record.Tags, odd.Job.Tags)
}

// invalidTimes: a time that no calendar has is refused, and not taken for one that is long ago.
func invalidTimes(e *env) {
	before := time.Time{}.Add(-time.Microsecond)
	for name, spoil := range map[string]func(*store.Job){
		"a run time beyond the year 9999":         func(j *store.Job) { j.RunAt = beyondTime },
		"a run time beyond what 64 bits can hold": func(j *store.Job) { j.RunAt = beyondTime.AddDate(300_000, 0, 0) },
		"a run time before the year 1":            func(j *store.Job) { j.RunAt = before },
		"a deadline beyond the year 9999":         func(j *store.Job) { j.Options.Deadline = beyondTime },
		"a deadline before the year 1":            func(j *store.Job) { j.Options.Deadline = before },
	} {
		bad, good := e.job(), e.job()
		spoil(&bad.Job)
		e.apply(&store.Batch{Enqueues: []*store.Enqueue{bad, good}})
		if !errors.Is(bad.Err, store.ErrInvalid) || bad.Result.State != 0 {
			e.Errorf("%s: error is %v, result %+v", name, bad.Err, bad.Result)
		}
		if _, err := e.store.Get(e.ctx, bad.Job.ID); !errors.Is(err, store.ErrNotFound) {
			e.Errorf("%s: it is there: %v", name, err)
		}
		if good.Err != nil || e.get(good.Job.ID).State != store.Available {
			e.Errorf("%s: its neighbour: %v", name, good.Err)
		}
		fork := bad.Job
		err := e.store.Fork(e.ctx, store.ForkParams{From: good.Job.ID, Job: fork})
		if _, got := e.store.Get(e.ctx, fork.ID); !errors.Is(err, store.ErrInvalid) || !errors.Is(got, store.ErrNotFound) {
			e.Errorf("%s: Fork: %v, and a Get says %v", name, err, got)
		}
	}
}

// invalidOutcomeTimes: the run goes on, and can end otherwise.
func invalidOutcomeTimes(e *env) {
	for name, spoil := range map[string]func(*store.Outcome){
		"retryable": func(o *store.Outcome) { o.State, o.RunAt = store.Retryable, beyondTime },
		"scheduled": func(o *store.Outcome) { o.State, o.RunAt = store.Scheduled, beyondTime.AddDate(300_000, 0, 0) },
		"before":    func(o *store.Outcome) { o.State, o.RunAt = store.Scheduled, time.Time{}.Add(-time.Hour) },
		"waiting":   func(o *store.Outcome) { o.State, o.Wait = store.Waiting, &store.Wait{Until: beyondTime} },
	} {
		run, neighbour := e.durable(1), e.durable(1)
		bad := outcome(run, store.Available, func(o *store.Outcome) { o.Reason, o.Error = store.ReasonError, "words" })
		spoil(bad)
		good := outcome(neighbour, store.Retryable)
		e.apply(&store.Batch{Outcomes: []*store.Outcome{bad, good}})
		if !errors.Is(bad.Err, store.ErrInvalid) || !bad.Due.IsZero() {
			e.Errorf("%s: error is %v, due at %v", name, bad.Err, bad.Due)
		}
		if record := e.get(run.Job.ID); record.State != store.Running || len(record.Attempts) != 0 {
			e.Errorf("%s: the run goes on: %+v", name, record)
		}
		if good.Err != nil || good.Final != store.Retryable {
			e.Errorf("%s: its neighbour: %v, %v", name, good.Final, good.Err)
		}
		e.end(run, store.Completed)
		e.terminate(neighbour.Job.ID)
	}
}

// lastTimes: the last second of the calendar, and years long gone, are times like others.
func lastTimes(e *env) {
	last := time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)
	old := time.Date(1066, time.October, 14, 9, 0, 0, 0, time.UTC)
	scheduled := e.add(runAt(last), func(q *store.Enqueue) { q.Job.Options.Deadline = last })
	if record := e.get(scheduled); record.State != store.Scheduled || !record.RunAt.Equal(last) || !record.Options.Deadline.Equal(last) {
		e.Fatalf("record: %+v", record)
	}
	promoted, err := e.store.Promote(e.ctx, 10)
	if err != nil || promoted.Jobs != 0 || !promoted.NextDue.Equal(last) {
		e.Fatalf("Promote: %+v, %v", promoted, err)
	}
	node := e.join()
	run := e.claimOne(node, e.add(runAt(old)))
	if !run.Job.RunAt.Equal(old) {
		e.Fatalf("a job of the year 1066 is from %v", run.Job.RunAt)
	}
	if o := e.end(run, store.Retryable, func(o *store.Outcome) { o.RunAt = last }); o.Final != store.Retryable || !o.Due.Equal(last) {
		e.Fatalf("it became %v, due at %v", o.Final, o.Due)
	}
	parked := e.durable(1)
	if o := e.park(parked, &store.Wait{Until: last}); o.Final != store.Waiting || !o.Due.Equal(last) {
		e.Fatalf("a park became %v, due at %v", o.Final, o.Due)
	}
	if until := e.get(parked.Job.ID).Wait.Until; !until.Equal(last) {
		e.Fatalf("it waits until %v", until)
	}
	e.wantNothing(node)
	e.retry(scheduled)
	e.claimOne(node, scheduled)
}
