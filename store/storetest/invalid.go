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
