package env

import (
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// WantAnswers checks what is said of jobs, in the order in which they were asked about. Of a result
// that is wanted the state and the class of the error count.
func (e *Env) WantAnswers(results []store.Result, err error, ids []store.ID, want ...store.Result) {
	e.Helper()
	if err != nil || len(results) != len(ids) {
		e.Fatalf("%d results about %d jobs, %v", len(results), len(ids), err)
	}
	for i, r := range results {
		if r.Job != ids[i] || r.State != want[i].State || !errors.Is(r.Err, want[i].Err) {
			e.Fatalf("answer %d is %+v, want %v to be %+v", i, r, ids[i], want[i])
		}
	}
}

// Cancel asks to cancel jobs and returns their states; none may be unknown.
func (e *Env) Cancel(ids ...store.ID) []store.State {
	e.Helper()
	results, wakes, err := e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: ids, Reason: "not needed", Actor: "ada"})
	e.told.Store(&wakes)
	if err != nil || len(results) != len(ids) {
		e.Fatalf("Cancel: %d results, %v", len(results), err)
	}
	var states []store.State
	for i, r := range results {
		if r.Err != nil || r.Job != ids[i] {
			e.Fatalf("Cancel of %v: %+v", ids[i], r)
		}
		states = append(states, r.State)
	}
	return states
}

// Retry asks to run a job again, which must succeed.
func (e *Env) Retry(id store.ID) {
	e.Helper()
	if r := e.TryRetry(id); r.Err != nil || r.State != store.Available {
		e.Fatalf("Retry: %+v", r)
	}
}

// TryRetry asks to run a job again, and returns what the store made of it.
func (e *Env) TryRetry(id store.ID) store.Result {
	e.Helper()
	results, wakes, err := e.Store.Retry(e.Ctx, store.RetryParams{Jobs: []store.ID{id}, Actor: "ada", Reason: "once more"})
	e.told.Store(&wakes)
	if err != nil || len(results) != 1 || results[0].Job != id {
		e.Fatalf("Retry: %+v, %v", results, err)
	}
	return results[0]
}

// Pause pauses a queue, or lets it go on.
func (e *Env) Pause(queue string, paused bool) {
	e.Helper()
	err := e.Store.Pause(e.Ctx, store.PauseParams{Namespace: Namespace, Queue: queue, Paused: paused, Actor: "ada"})
	e.NoError("Pause", err)
}

// SetQueue sets how the jobs of a queue are attempted, and unsets some of that.
func (e *Env) SetQueue(queue string, set store.AttemptSettings, unset store.Setting) store.QueueAttempts {
	e.Helper()
	is, err := e.Store.SetQueue(e.Ctx, store.SetQueueParams{Namespace: Namespace, Queue: queue, Set: set, Unset: unset, Actor: "ada"})
	e.NoError("SetQueue", err)
	return is
}

// Rest lets a queue rest.
func (e *Env) Rest(queue string, d time.Duration, curve store.Backoff) store.Resting {
	e.Helper()
	r, err := e.Store.Rest(e.Ctx, store.RestParams{Namespace: Namespace, Queue: queue, For: d, Curve: curve})
	e.NoError("Rest", err)
	return r
}

// TryDeleteQueue takes a queue off the list.
func (e *Env) TryDeleteQueue(queue string) error {
	return e.Store.DeleteQueue(e.Ctx, store.DeleteQueueParams{Namespace: Namespace, Queue: queue, Actor: "ada"})
}

// Sweep applies what cancel requests are left over.
func (e *Env) Sweep() int {
	e.Helper()
	return e.SweepOnce().Jobs
}

// SweepOnce does the same, and returns all that it says.
func (e *Env) SweepOnce() store.Swept {
	e.Helper()
	swept, err := e.Store.SweepCancels(e.Ctx)
	e.told.Store(&swept.Wakes)
	e.NoError("SweepCancels", err)
	return swept
}

// TryPause asks to pause jobs.
func (e *Env) TryPause(ids ...store.ID) []store.Result {
	e.Helper()
	results, wakes, err := e.Store.PauseJobs(e.Ctx, store.PauseJobsParams{Jobs: ids, Reason: "look first", Actor: "ada"})
	e.told.Store(&wakes)
	if err != nil || len(results) != len(ids) {
		e.Fatalf("PauseJobs: %d results, %v", len(results), err)
	}
	for i, r := range results {
		if r.Job != ids[i] {
			e.Fatalf("answer %d of PauseJobs is about %v, want %v", i, r.Job, ids[i])
		}
	}
	return results
}

// PauseJob asks to pause a job, which must lead to the given state.
func (e *Env) PauseJob(id store.ID, want store.State) {
	e.Helper()
	if r := e.TryPause(id)[0]; r.Err != nil || r.State != want {
		e.Fatalf("PauseJobs: %+v, want %v", r, want)
	}
}

// Resumption lets a job go on with all that it remembers.
func Resumption(id store.ID) store.ResumeParams {
	return store.ResumeParams{Job: id, Keep: -1, Expect: -1, Reason: "fixed", Actor: "ada"}
}

// Cut lets a job go on with so many entries of its journal.
func Cut(id store.ID, keep int64) store.ResumeParams {
	params := Resumption(id)
	params.Keep = keep
	return params
}

// Resume lets a job go on, which must lead to the given state.
func (e *Env) Resume(params store.ResumeParams, want store.State) {
	e.Helper()
	state, wakes, err := e.Store.Resume(e.Ctx, params)
	e.told.Store(&wakes)
	if err != nil || state != want {
		e.Fatalf("Resume: %v, %v; want %v", state, err, want)
	}
	e.WantState(params.Job, want)
}

// WantNoResume checks that a job cannot be resumed like this, and stays as it is.
func (e *Env) WantNoResume(params store.ResumeParams, class error) {
	e.Helper()
	before := e.Get(params.Job)
	_, wakes, err := e.Store.Resume(e.Ctx, params)
	e.told.Store(&wakes)
	e.WantErr("Resume of a "+before.State.String()+" job", err, class)
	e.Equal("record after the Resume", e.Get(params.Job), before)
}

// GoOn resumes a job, whatever it is then.
func (e *Env) GoOn(id store.ID) {
	e.Helper()
	_, wakes, err := e.Store.Resume(e.Ctx, Resumption(id))
	e.told.Store(&wakes)
	if err != nil {
		e.Fatalf("Resume: %v", err)
	}
}

// Terminate ends jobs at once, and returns their states; none may be unknown.
func (e *Env) Terminate(ids ...store.ID) []store.State {
	e.Helper()
	results, wakes, err := e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: ids, Reason: "enough", Actor: "ada", Terminate: true})
	e.told.Store(&wakes)
	if err != nil || len(results) != len(ids) {
		e.Fatalf("Cancel: %d results, %v", len(results), err)
	}
	var states []store.State
	for i, r := range results {
		if r.Err != nil || r.Job != ids[i] {
			e.Fatalf("terminating %v: %+v", ids[i], r)
		}
		states = append(states, r.State)
	}
	return states
}

// Fork makes a job out of the beginning of another one, and returns its id.
func (e *Env) Fork(from store.ID, keep int64, change ...func(*store.Enqueue)) store.ID {
	e.Helper()
	q := e.Job(change...)
	wakes, err := e.Store.Fork(e.Ctx, store.ForkParams{From: from, Keep: keep, Job: q.Job, Reason: "what if", Actor: "ada"})
	e.told.Store(&wakes)
	e.NoError("Fork", err)
	return q.Job.ID
}

// CloseOnce closes children once.
func (e *Env) CloseOnce(limit int) store.Closed {
	e.Helper()
	closed, err := e.Store.CloseChildren(e.Ctx, limit)
	e.told.Store(&closed.Wakes)
	e.NoError("CloseChildren", err)
	return closed
}

// CloseChildren closes all children of finished jobs, and theirs, and returns which were ended.
func (e *Env) CloseChildren(limit int) []store.ID {
	e.Helper()
	var ended []store.ID
	var wakes []store.Wake
	defer func() { e.told.Store(&wakes) }()
	for range 1000 {
		closed, err := e.Store.CloseChildren(e.Ctx, limit)
		wakes = append(wakes, closed.Wakes...)
		e.NoError("CloseChildren", err)
		if n := len(closed.Ended) + len(closed.Running); n > limit {
			e.Fatalf("CloseChildren closed %d of at most %d", n, limit)
		}
		ended = append(ended, closed.Ended...)
		if !closed.More {
			return ended
		}
	}
	e.Fatal("CloseChildren never comes to an end")
	return nil
}
