package env

import "github.com/holdfastdev/holdfast/store"

// HandedOver makes a job that its run has handed over, and returns that run.
func (e *Env) HandedOver(change ...func(*store.Enqueue)) store.Claimed {
	e.Helper()
	run := e.Started(change...)
	e.HandOver(run, &store.Wait{})
	return run
}

// HandOver ends a run that hands its job over.
func (e *Env) HandOver(run store.Claimed, wait *store.Wait, change ...func(*store.Outcome)) *store.Outcome {
	e.Helper()
	wait.HandedOver = true
	change = append([]func(*store.Outcome){func(o *store.Outcome) { o.Wait = wait }}, change...)
	return e.End(run, store.Waiting, change...)
}

// CompletedBy is an end from outside that completes a job.
func CompletedBy(id store.ID) store.End {
	return store.End{Job: id, State: store.Completed, Result: []byte(`"from outside"`)}
}

// FailedBy is one that fails it.
func FailedBy(id store.ID) store.End {
	return store.End{
		Job: id, State: store.Failed, Error: "it failed outside", Fingerprint: 7,
		Closing: store.Entry{Path: "~", Data: []byte(`{"state":"failed"}`)},
	}
}

// TryFinish ends jobs from outside, and returns what the store made of it.
func (e *Env) TryFinish(ends ...store.End) []store.Result {
	e.Helper()
	results, wakes, err := e.Store.Finish(e.Ctx, store.FinishParams{Ends: ends, Actor: "ada"})
	e.told.Store(&wakes)
	if err != nil || len(results) != len(ends) {
		e.Fatalf("Finish: %d results, %v", len(results), err)
	}
	for i, r := range results {
		if r.Job != ends[i].Job {
			e.Fatalf("answer %d of Finish is about %v, want %v", i, r.Job, ends[i].Job)
		}
	}
	return results
}

// Finish ends jobs from outside, which must lead to the states that it says.
func (e *Env) Finish(ends ...store.End) {
	e.Helper()
	for i, r := range e.TryFinish(ends...) {
		if r.Err != nil || r.State != ends[i].State {
			e.Fatalf("Finish: %+v, want %v", r, ends[i].State)
		}
		e.WantState(r.Job, r.State)
	}
}

// WantNotFinished checks that a job cannot be ended from outside, and stays as it is.
func (e *Env) WantNotFinished(id store.ID, class error) {
	e.Helper()
	before := e.Get(id)
	for _, end := range []store.End{CompletedBy(id), FailedBy(id)} {
		r := e.TryFinish(end)[0]
		e.WantErr("Finish of a "+before.State.String()+" job", r.Err, class)
		if r.State != before.State {
			e.Fatalf("a %v job that cannot be finished is told to be %v", before.State, r.State)
		}
	}
	e.Equal("record after the Finish", e.Get(id), before)
}
