package env

import (
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// End ends a run, which must succeed, and returns the outcome.
func (e *Env) End(c store.Claimed, state store.State, change ...func(*store.Outcome)) *store.Outcome {
	e.Helper()
	o := Outcome(c, state, change...)
	if err := e.TryEnd(o); err != nil {
		e.Fatalf("outcome %v of %v: %v", state, c.Job.ID, err)
	}
	return o
}

// TryEnd applies an outcome, and returns its own error.
func (e *Env) TryEnd(o *store.Outcome) error {
	e.Helper()
	e.Apply(&store.Batch{Outcomes: []*store.Outcome{o}})
	return o.Err
}

// EndAll ends runs in one batch, which must lead to that state.
func (e *Env) EndAll(runs []store.Claimed, state store.State, change ...func(*store.Outcome)) {
	e.Helper()
	batch := &store.Batch{}
	for _, run := range runs {
		batch.Outcomes = append(batch.Outcomes, Outcome(run, state, change...))
	}
	e.Apply(batch)
	for i, o := range batch.Outcomes {
		if o.Err != nil || o.Final != state {
			e.Fatalf("run %d, which ended as %v, became %v: %v", i, state, o.Final, o.Err)
		}
	}
}

// Save writes a checkpoint, which must succeed, and returns it as it is stored.
func (e *Env) Save(run store.Claimed, c store.Checkpoint) *store.Checkpoint {
	e.Helper()
	w := &store.CheckpointWrite{Lease: run.Lease, Checkpoint: c}
	e.Apply(&store.Batch{Checkpoints: []*store.CheckpointWrite{w}})
	if w.Err != nil {
		e.Fatalf("checkpoint: %v", w.Err)
	}
	c.UpdatedAt = e.Clock.Now()
	return &c
}

// WantLost checks that neither a checkpoint nor any outcome is accepted under a lease, and that the
// job stays as it is.
func (e *Env) WantLost(run store.Claimed) {
	e.Helper()
	e.wantUnchanged(run, func() {
		for _, state := range statesOf(run) {
			c := &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{Message: "stale"}}
			o := Outcome(run, state)
			e.Apply(&store.Batch{Checkpoints: []*store.CheckpointWrite{c}, Outcomes: []*store.Outcome{o}})
			e.WantErr("stale checkpoint", c.Err, store.ErrLeaseLost)
			e.WantErr("stale outcome "+state.String(), o.Err, store.ErrLeaseLost)
		}
	})
}

// WantTakenAway checks that a run that did not end itself writes nothing, although it says that it
// repeats what was lost. To say that it was applied would lose a result.
func (e *Env) WantTakenAway(run store.Claimed) {
	e.Helper()
	e.WantLost(run)
	e.WantNoAppend(run.Lease)
	e.wantUnchanged(run, func() {
		for _, state := range statesOf(run) {
			o := Repeated(Outcome(run, state))
			e.WantErr("repeated "+state.String(), e.TryEnd(o), store.ErrLeaseLost)
		}
	})
}

// WantNoAppend checks that nothing is appended under a lease, and that no child is enqueued.
func (e *Env) WantNoAppend(lease store.Lease) {
	e.Helper()
	before, jobs := e.Journal(lease.Job), len(e.ListIDs(store.Filter{}))
	seq := before.LastSeq() + 1
	for _, repeat := range []bool{false, true} {
		a := &store.Append{
			Lease: lease, Entries: Steps(seq, seq+1), Enqueues: []*store.Enqueue{e.Child(lease.Job)}, Closing: true, Repeat: repeat,
		}
		e.WantErr("stale append", e.TryAppend(a), store.ErrLeaseLost)
	}
	e.Equal("journal after stale appends", e.Journal(lease.Job), before)
	if n := len(e.ListIDs(store.Filter{})); n != jobs {
		e.Fatalf("%d jobs became %d by stale appends", jobs, n)
	}
	if record, err := e.Store.Get(e.Ctx, "", lease.Job); err == nil && record.Closing {
		e.Fatal("the job is closing since a stale append said so")
	}
}

// statesOf are the states in which a run may end. Only one that remembers waits.
func statesOf(run store.Claimed) []store.State {
	if run.Durable {
		return append(slices.Clone(EndStates), store.Waiting)
	}
	return EndStates
}

// wantUnchanged checks that a job is the same before and after.
func (e *Env) wantUnchanged(run store.Claimed, do func()) {
	e.Helper()
	before, beforeErr := e.Store.Get(e.Ctx, "", run.Job.ID)
	do()
	after, afterErr := e.Store.Get(e.Ctx, "", run.Job.ID)
	if (beforeErr == nil) != (afterErr == nil) {
		e.Fatalf("Get before: %v, after: %v", beforeErr, afterErr)
	}
	e.Equal("job after stale writes", after, before)
}

// WantKnown repeats an outcome that was applied: it must be known, and change nothing.
func (e *Env) WantKnown(o *store.Outcome) {
	e.Helper()
	before := e.Get(o.Lease.Job)
	again := Repeated(o)
	e.Apply(&store.Batch{Outcomes: []*store.Outcome{again}})
	if again.Err != nil || again.Final != o.Final {
		e.Fatalf("repeated outcome %v: %v, %v; want %v", o.State, again.Final, again.Err, o.Final)
	}
	e.Equal("job after the repeated outcome", e.Get(o.Lease.Job), before)
}

// EndAs ends a run, which must lead to the given state.
func (e *Env) EndAs(final store.State, c store.Claimed, state store.State, change ...func(*store.Outcome)) {
	e.Helper()
	if o := e.End(c, state, change...); o.Final != final {
		e.Fatalf("job %v, which ended as %v, became %v, want %v", c.Job.ID, state, o.Final, final)
	}
}
