package durable

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var unitTests = env.Tests{
	"a_batch_of_which_one_operation_is_refused_leaves_nothing":    refusedBatches,
	"a_batch_names_all_that_is_refused":                           severalRefused,
	"what_is_not_required_does_not_refuse_a_batch":                answeredOnly,
	"a_unit_is_written_as_a_whole_or_not_at_all":                  wholeUnits,
	"a_required_enqueue_may_find_its_key_held_and_use_the_holder": requiredUse,
	"a_unit_that_is_repeated_happens_once":                        repeatedUnits,
	"a_conflict_with_a_unit_that_is_refused_is_inconclusive":      conflictWithRefused,
	"of_operations_that_want_the_same_one_is_applied":             eachForItself,
}

// scene is what a batch of each kind of operation works on.
type scene struct {
	*env.Env
	batch *store.Batch
	runs  []store.Claimed // of which some are to be refused
}

// newScene makes a batch in which nothing is to be refused. Its operations are of different jobs.
func newScene(e *env.Env) *scene {
	runs := []store.Claimed{e.Started(), e.Durable(2), e.Durable(1), e.Started(), e.Started()}
	s := &scene{Env: e, runs: runs}
	s.batch = &store.Batch{
		Checkpoints: []*store.CheckpointWrite{{Lease: runs[0].Lease, Checkpoint: store.Checkpoint{Value: []byte(`{"n":1}`)}}},
		Appends: []*store.Append{
			{Lease: runs[1].Lease, Entries: env.Steps(3, 4)},
			{
				Lease:    runs[2].Lease,
				Entries:  []store.Entry{{Seq: 2, Kind: store.EntryChild, Name: "send", Data: []byte(`1`)}},
				Enqueues: []*store.Enqueue{e.Child(runs[2].Job.ID)},
			},
		},
		Sends:    []*store.Send{{Job: runs[1].Job.ID, Message: env.Signal("go"), Key: "k"}},
		Outcomes: []*store.Outcome{env.Outcome(runs[3], store.Completed), env.Outcome(runs[4], store.Retryable)},
		Enqueues: []*store.Enqueue{e.Job(), e.Job(env.Unique("free")), e.Job(env.Ordered("k"))},
	}
	return s
}

// lose ends a run, so that its lease is lost.
func (s *scene) lose(run store.Claimed) store.Lease {
	s.End(run, store.Completed)
	return run.Lease
}

// refusals are the ways in which one operation refuses a batch. Each adds it, and returns its Err
// and the class of that.
var refusals = map[string]func(*scene) (*error, error){
	"a checkpoint under a lost lease": func(s *scene) (*error, error) {
		c := &store.CheckpointWrite{Lease: s.lose(s.Started()), Checkpoint: store.Checkpoint{Message: "late"}}
		s.batch.Checkpoints = append(s.batch.Checkpoints, c)
		return &c.Err, store.ErrLeaseLost
	},
	"a checkpoint that is no JSON": func(s *scene) (*error, error) {
		c := &store.CheckpointWrite{Lease: s.Started().Lease, Checkpoint: store.Checkpoint{Value: []byte("{")}}
		s.batch.Checkpoints = append([]*store.CheckpointWrite{c}, s.batch.Checkpoints...)
		return &c.Err, store.ErrInvalid
	},
	"an append under a lost lease": func(s *scene) (*error, error) {
		a := &store.Append{Lease: s.lose(s.Durable(1)), Entries: env.Steps(2, 2)}
		s.batch.Appends = append(s.batch.Appends, a)
		return &a.Err, store.ErrLeaseLost
	},
	"an append over an entry": func(s *scene) (*error, error) {
		a := &store.Append{Lease: s.Durable(3).Lease, Entries: env.Steps(3, 4)}
		s.batch.Appends = append(s.batch.Appends, a)
		return &a.Err, store.ErrLeaseLost
	},
	"an append with a gap": func(s *scene) (*error, error) {
		a := &store.Append{Lease: s.Durable(1).Lease, Entries: []store.Entry{env.Step(2), env.Step(4)}}
		s.batch.Appends = append([]*store.Append{a}, s.batch.Appends...)
		return &a.Err, store.ErrInvalid
	},
	"an append with a child that is invalid": func(s *scene) (*error, error) {
		run := s.Durable(1)
		child := s.Child(run.Job.ID, env.Priority(9))
		a := &store.Append{Lease: run.Lease, Entries: []store.Entry{env.Entry(2, store.EntryChild, "send")}, Enqueues: []*store.Enqueue{child}}
		s.batch.Appends = append(s.batch.Appends, a)
		return &a.Err, store.ErrInvalid
	},
	"an outcome under a lost lease": func(s *scene) (*error, error) {
		run := s.Started()
		s.lose(run)
		return s.end(env.Outcome(run, store.Completed)), store.ErrLeaseLost
	},
	"a second outcome of a run": func(s *scene) (*error, error) {
		return s.end(env.Outcome(s.runs[3], store.Failed)), store.ErrLeaseLost
	},
	"an outcome that no run can have": func(s *scene) (*error, error) {
		run := s.Started()
		return s.end(env.Outcome(run, store.Retryable, func(o *store.Outcome) { o.RunAt = env.BeyondTime })), store.ErrInvalid
	},
	"a required message for no job": func(s *scene) (*error, error) {
		return s.send(s.IDs.Next()), store.ErrNotFound
	},
	"a required message for a job that has finished": func(s *scene) (*error, error) {
		run := s.Started()
		s.End(run, store.Completed)
		return s.send(run.Job.ID), store.ErrConflict
	},
	"a required enqueue whose key is held": func(s *scene) (*error, error) {
		s.Add(env.Unique("taken"), env.Delay(time.Hour))
		return s.require(s.Job(env.Unique("taken"), env.OnConflict(store.Reject))), store.ErrConflict
	},
	"a required enqueue that is invalid": func(s *scene) (*error, error) {
		return s.require(s.Job(env.Priority(9))), store.ErrInvalid
	},
}

func (s *scene) end(o *store.Outcome) *error {
	s.batch.Outcomes = append(s.batch.Outcomes, o)
	return &o.Err
}

func (s *scene) send(job store.ID) *error {
	q := &store.Send{Job: job, Message: env.Signal("go"), Required: true}
	s.batch.Sends = append([]*store.Send{q}, s.batch.Sends...)
	return &q.Err
}

func (s *scene) require(q *store.Enqueue) *error {
	q.Required = true
	s.batch.Enqueues = append([]*store.Enqueue{q}, s.batch.Enqueues...)
	return &q.Err
}

// known is all that a store knows of its jobs.
type known struct {
	Jobs     []store.Record
	Journals []store.Journal
}

func (s *scene) known() (k known) {
	s.Helper()
	k.Jobs = s.List(store.Filter{}, 100)
	slices.SortFunc(k.Jobs, func(a, b store.Record) int { return cmp.Compare(a.ID.String(), b.ID.String()) })
	for i, job := range k.Jobs {
		k.Jobs[i] = s.Get(job.ID)
		k.Journals = append(k.Journals, s.Journal(job.ID))
	}
	return k
}

// refusedBatches: whatever refuses a batch, nothing of it is there afterwards, and of what was
// asked only the operation that is to blame is told so. The rest can be written.
func refusedBatches(e *env.Env) {
	for name, spoil := range refusals {
		s := newScene(e)
		e.Log(name)
		refused, class := spoil(s)
		before := s.known()
		err := e.Store.Apply(e.Ctx, s.batch)
		if refusal, ok := errors.AsType[*store.RefusedError](err); !ok || refusal.Refused != 1 || !errors.Is(refusal.First, class) {
			e.Fatalf("%s: Apply: %v", name, err)
		}
		if !errors.Is(*refused, class) {
			e.Errorf("%s: the operation: %v", name, *refused)
		}
		*refused = nil
		s.wantUntold(name)
		e.Equal(name+": what is known", s.known(), before)
		if err = store.ApplyEach(e.Ctx, e.Store, s.batch); err != nil || !errors.Is(*refused, class) {
			e.Fatalf("%s: ApplyEach: %v, the operation: %v", name, err, *refused)
		}
		s.wantWritten(name)
		s.Terminate(e.ListIDs(store.Filter{States: []store.State{store.Available, store.Retryable, store.Running}})...)
	}
}

// wantUntold checks that no operation has an answer.
func (s *scene) wantUntold(name string) {
	s.Helper()
	b := s.batch
	for _, c := range b.Checkpoints {
		s.Equal(name+": a checkpoint's Err", c.Err, nil)
	}
	for _, a := range b.Appends {
		s.Equal(name+": an append's Err", a.Err, nil)
	}
	for _, q := range b.Sends {
		if q.Err != nil || q.Result != (store.SendResult{}) {
			s.Errorf("%s: a message: %+v, %v", name, q.Result, q.Err)
		}
	}
	for _, o := range b.Outcomes {
		if o.Err != nil || o.Final != 0 || !o.Due.IsZero() {
			s.Errorf("%s: an outcome: %v, %v", name, o.Final, o.Err)
		}
	}
	for _, q := range b.Enqueues {
		if q.Err != nil || q.Result != (store.EnqueueResult{}) {
			s.Errorf("%s: an enqueue: %+v, %v", name, q.Result, q.Err)
		}
	}
	if len(b.Woken) > 0 {
		s.Errorf("%s: it wakes %+v", name, b.Woken)
	}
}

// wantWritten checks that what the scene began with is there.
func (s *scene) wantWritten(name string) {
	s.Helper()
	if s.Get(s.runs[0].Job.ID).Checkpoint == nil {
		s.Errorf("%s: the checkpoint is not there", name)
	}
	s.WantEntries(s.runs[1].Job.ID, 4)
	s.WantEntries(s.runs[2].Job.ID, 2)
	if n := len(s.Messages(s.runs[1].Job.ID)); n != 1 {
		s.Errorf("%s: %d messages", name, n)
	}
	s.WantState(s.runs[3].Job.ID, store.Completed)
	s.WantState(s.runs[4].Job.ID, store.Retryable)
	for _, q := range slices.Concat(s.batch.Enqueues, s.batch.Appends[1].Enqueues) {
		if q.Err == nil {
			s.WantState(q.Job.ID, store.Available)
		}
	}
}

// severalRefused: the caller learns of all at once.
func severalRefused(e *env.Env) {
	s := newScene(e)
	lost := s.lose(e.Started())
	s.batch.Checkpoints = append(s.batch.Checkpoints, &store.CheckpointWrite{Lease: lost})
	s.batch.Appends = append(s.batch.Appends, &store.Append{Lease: lost, Entries: env.Steps(1, 1)})
	s.batch.Outcomes = append(s.batch.Outcomes, &store.Outcome{Lease: lost, State: store.Completed})
	err := e.Store.Apply(e.Ctx, s.batch)
	if refusal, ok := errors.AsType[*store.RefusedError](err); !ok || refusal.Refused != 3 || !errors.Is(err, store.ErrRefused) {
		e.Fatalf("Apply: %v", err)
	}
	if rest := s.batch.Rest(); rest.Len() != s.batch.Len()-3 {
		e.Fatalf("of %d operations %d are left", s.batch.Len(), rest.Len())
	}
}

// answeredOnly: a message without a receiver and a job whose key is held are answers, and the rest
// of the batch is written.
func answeredOnly(e *env.Env) {
	e.Add(env.Unique("taken"), env.Delay(time.Hour))
	s := newScene(e)
	nobody := &store.Send{Job: e.IDs.Next(), Message: env.Signal("go")}
	s.batch.Sends = append(s.batch.Sends, nobody)
	conflict := e.Job(env.Unique("taken"), env.OnConflict(store.Reject))
	s.batch.Enqueues = append(s.batch.Enqueues, conflict)
	if err := e.Store.Apply(e.Ctx, s.batch); err != nil {
		e.Fatalf("Apply: %v", err)
	}
	e.WantErr("the message", nobody.Err, store.ErrNotFound)
	e.WantErr("the enqueue", conflict.Err, store.ErrConflict)
	s.wantWritten("with both")
}

// wholeUnits: a hand-over ends one job, and begins another and tells a third of it.
func wholeUnits(e *env.Env) {
	told := e.Durable(1)
	unit := func(run store.Claimed, change ...func(*store.Enqueue)) *store.Unit {
		return &store.Unit{
			Checkpoint: &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{Value: []byte(`{"n":1}`)}},
			Append:     &store.Append{Lease: run.Lease, Entries: env.Steps(1, 1)},
			Sends:      []*store.Send{{Job: told.Job.ID, Message: env.Signal("over")}},
			Outcome:    env.Outcome(run, store.Completed, func(o *store.Outcome) { o.Durable = true }),
			Enqueues:   []*store.Enqueue{e.Job(change...)},
		}
	}
	e.Add(env.Unique("taken"), env.Delay(time.Hour))
	runs := []store.Claimed{e.Started(), e.Started()}
	bad := unit(runs[0], env.Unique("taken"), env.OnConflict(store.Reject))
	good := unit(runs[1], env.Unique("free"), env.OnConflict(store.Reject))
	batch := &store.Batch{}
	batch.Add(bad)
	batch.Add(good)
	if err := e.Store.Apply(e.Ctx, batch); !errors.Is(err, store.ErrRefused) {
		e.Fatalf("Apply: %v", err)
	}
	e.WantErr("the unit whose key is held", bad.Err(), store.ErrConflict)
	if err := good.Err(); err != nil {
		e.Fatalf("the other unit: %v", err)
	}
	for _, run := range runs {
		e.WantState(run.Job.ID, store.Running)
		e.WantEntries(run.Job.ID, 0)
	}
	rest := &store.Batch{}
	rest.Add(good)
	if err := e.Store.Apply(e.Ctx, rest); err != nil || good.Err() != nil {
		e.Fatalf("Apply: %v, %v", err, good.Err())
	}
	e.WantState(runs[0].Job.ID, store.Running)
	e.WantState(runs[1].Job.ID, store.Completed)
	e.WantEntries(runs[1].Job.ID, 1)
	e.WantState(good.Enqueues[0].Job.ID, store.Available)
	if n := len(e.Messages(told.Job.ID)); n != 1 {
		e.Fatalf("%d messages", n)
	}
}

// requiredUse: that the holder of a key is used is what was asked for.
func requiredUse(e *env.Env) {
	holder := e.Add(env.Unique("taken"), env.Delay(time.Hour))
	q := e.Job(env.Unique("taken"))
	q.Required = true
	batch := &store.Batch{Enqueues: []*store.Enqueue{q, e.Job()}}
	if err := e.Store.Apply(e.Ctx, batch); err != nil || q.Err != nil || !q.Result.Existing || q.Result.ID != holder {
		e.Fatalf("Apply: %v; %+v, %v", err, q.Result, q.Err)
	}
	e.WantState(batch.Enqueues[1].Job.ID, store.Available)
}

// repeatedUnits: a unit whose answer was lost is sent again.
func repeatedUnits(e *env.Env) {
	run, told := e.Started(), e.Durable(1)
	unit := &store.Unit{
		Checkpoint: &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{Value: []byte(`{"n":1}`)}},
		Append:     &store.Append{Lease: run.Lease, Entries: env.Steps(1, 2)},
		Sends:      []*store.Send{{Job: told.Job.ID, Message: env.Signal("over"), Key: "k"}},
		Outcome:    env.Outcome(run, store.Completed, func(o *store.Outcome) { o.Durable = true }),
		Enqueues:   []*store.Enqueue{e.Job(env.Unique("free"))},
	}
	for again := range 3 {
		unit.Append.Repeat, unit.Outcome.Repeat = again > 0, again > 0
		batch := &store.Batch{}
		batch.Add(unit)
		if err := e.Store.Apply(e.Ctx, batch); err != nil || unit.Err() != nil {
			e.Fatalf("time %d: %v, %v", again, err, unit.Err())
		}
		if unit.Outcome.Final != store.Completed || unit.Sends[0].Result.Duplicate != (again > 0) ||
			unit.Enqueues[0].Result.Existing != (again > 0) {
			e.Fatalf("time %d: %v, %+v, %+v", again, unit.Outcome.Final, unit.Sends[0].Result, unit.Enqueues[0].Result)
		}
		e.WantEntries(run.Job.ID, 2)
		if n := len(e.Messages(told.Job.ID)); n != 1 {
			e.Fatalf("%d messages", n)
		}
	}
}

// conflictWithRefused: two units want the same key, id or callback, and the first is refused for
// something else. What the second is told of it, if anything, is Inconclusive: alone it is written.
func conflictWithRefused(e *env.Env) {
	lost := e.Started()
	e.End(lost, store.Completed)
	refused := map[string]func(u *store.Unit){
		"a lost lease": func(u *store.Unit) { u.Outcome = env.Outcome(lost, store.Failed) },
		"a message to nobody": func(u *store.Unit) {
			u.Sends = append(u.Sends, &store.Send{Job: e.IDs.Next(), Message: env.Signal("x")})
		},
		"an enqueue out of range": func(u *store.Unit) { u.Enqueues = append(u.Enqueues, e.Job(env.Priority(9))) },
	}
	wants := map[string]func() (first, second *store.Unit){
		"the same unique key": func() (first, second *store.Unit) {
			key := e.IDs.Next().String()
			job := func() *store.Enqueue {
				return e.Job(env.Unique(key), env.OnConflict(store.Reject), env.Delay(time.Hour))
			}
			return &store.Unit{Enqueues: []*store.Enqueue{job()}}, &store.Unit{Enqueues: []*store.Enqueue{job()}}
		},
		"the same id": func() (first, second *store.Unit) {
			a, b := e.Job(env.In("elsewhere")), e.Job(env.Delay(time.Hour))
			b.Job.ID, a.KnownID, b.KnownID = a.Job.ID, true, true
			return &store.Unit{Enqueues: []*store.Enqueue{a}}, &store.Unit{Enqueues: []*store.Enqueue{b}}
		},
		"the same callback": func() (first, second *store.Unit) {
			run := e.Started()
			e.Write(&run, env.Entry(1, store.EntryCallback, "cb"))
			answer := func() *store.Unit {
				return &store.Unit{Sends: []*store.Send{{Job: run.Job.ID, Message: env.Callback(store.MessageCallback, "cb")}}}
			}
			return answer(), answer()
		},
	}
	for why, refuse := range refused {
		for what, both := range wants {
			first, second := both()
			refuse(first)
			batch := &store.Batch{}
			batch.Add(first)
			batch.Add(second)
			err := e.Store.Apply(e.Ctx, batch)
			if !errors.Is(err, store.ErrRefused) || first.Err() == nil {
				e.Fatalf("%s, %s: Apply: %v; the first unit: %v", why, what, err, first.Err())
			}
			if err := second.Err(); err != nil && !store.Inconclusive(err) {
				e.Errorf("%s, %s: the second unit: %v", why, what, err)
			}
			alone := &store.Batch{}
			alone.Add(second)
			alone.Reset()
			e.NoError("Apply of the second", e.Store.Apply(e.Ctx, alone))
			if second.Err() != nil {
				e.Errorf("%s, %s: the second unit alone: %v", why, what, second.Err())
			}
		}
	}
}

// eachForItself: for ApplyEach every operation is a unit.
func eachForItself(e *env.Env) {
	lost := e.Started()
	e.End(lost, store.Completed)
	run := e.Started()
	e.Write(&run, env.Entry(1, store.EntryCallback, "cb"))
	b := &store.Batch{Outcomes: []*store.Outcome{env.Outcome(lost, store.Failed)}}
	for range 3 {
		b.Sends = append(b.Sends, &store.Send{Job: run.Job.ID, Message: env.Callback(store.MessageCallback, "cb"), Required: true})
		q := e.Job(env.Unique("k"), env.OnConflict(store.Reject))
		q.Required = true
		b.Enqueues = append(b.Enqueues, q)
	}
	e.NoError("ApplyEach", store.ApplyEach(e.Ctx, e.Store, b))
	e.WantErr("the outcome", b.Outcomes[0].Err, store.ErrLeaseLost)
	for i, q := range b.Sends {
		if (q.Err == nil) != (i == 0) {
			e.Errorf("message %d: %v", i, q.Err)
		}
	}
	for i, q := range b.Enqueues {
		if (q.Err == nil) != (i == 0) {
			e.Errorf("enqueue %d: %v", i, q.Err)
		}
	}
}
