package env

import "github.com/holdfastdev/holdfast/store"

// End ends a run, which must succeed, and returns the outcome.
func (e *Env) End(c store.Claimed, state store.State, change ...func(*store.Outcome)) *store.Outcome {
	e.Helper()
	o := Outcome(c, state, change...)
	e.Apply(&store.Batch{Outcomes: []*store.Outcome{o}})
	if o.Err != nil {
		e.Fatalf("outcome %v of %v: %v", state, c.Job.ID, o.Err)
	}
	return o
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

// WantLost checks that neither a checkpoint nor any outcome is accepted under a lease, and that the job stays as it is.
func (e *Env) WantLost(run store.Claimed) {
	e.Helper()
	before, beforeErr := e.Store.Get(e.Ctx, "", run.Job.ID)
	for _, state := range EndStates {
		c := &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{Message: "stale"}}
		o := Outcome(run, state)
		e.Apply(&store.Batch{Checkpoints: []*store.CheckpointWrite{c}, Outcomes: []*store.Outcome{o}})
		e.WantErr("stale checkpoint", c.Err, store.ErrLeaseLost)
		e.WantErr("stale outcome "+state.String(), o.Err, store.ErrLeaseLost)
	}
	after, afterErr := e.Store.Get(e.Ctx, "", run.Job.ID)
	if (beforeErr == nil) != (afterErr == nil) {
		e.Fatalf("Get before: %v, after: %v", beforeErr, afterErr)
	}
	e.Equal("job after stale writes", after, before)
}

// EndAs ends a run, which must lead to the given state.
func (e *Env) EndAs(final store.State, c store.Claimed, state store.State, change ...func(*store.Outcome)) {
	e.Helper()
	if o := e.End(c, state, change...); o.Final != final {
		e.Fatalf("job %v, which ended as %v, became %v, want %v", c.Job.ID, state, o.Final, final)
	}
}
