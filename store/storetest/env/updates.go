package env

import "github.com/holdfastdev/holdfast/store"

// Request is a request with a name.
func Request(name string) store.Message {
	return store.Message{Kind: store.MessageUpdate, Name: name, Data: []byte(`{"n":1}`)}
}

// ForUpdates waits for requests after the last that the run knows.
func ForUpdates(seen int64) *store.Wait {
	return &store.Wait{Kinds: store.MessagesOf(store.MessageUpdate), SeenUpdate: seen, For: []byte(`{"waits_for":["update add"]}`)}
}

// Ask sends a request, which must be new, and returns its number.
func (e *Env) Ask(job store.ID, key string) int64 {
	e.Helper()
	q := e.TrySend(job, Request("add"), key)
	if q.Err != nil || q.Result.Duplicate || q.Result.Seq < 1 {
		e.Fatalf("request %q to %v: %+v, %v", key, job, q.Result, q.Err)
	}
	return q.Result.Seq
}

// AllOf are all requests to jobs.
func AllOf(jobs ...store.ID) []store.UpdatesAfter {
	var all []store.UpdatesAfter
	for _, id := range jobs {
		all = append(all, store.UpdatesAfter{Job: id})
	}
	return all
}

// OpenUpdates returns the open requests to a job.
func (e *Env) OpenUpdates(job store.ID) []store.Update {
	e.Helper()
	open, err := e.Store.OpenUpdates(e.Ctx, AllOf(job))
	if err != nil || len(open) != 1 {
		e.Fatalf("OpenUpdates: %d lists, %v", len(open), err)
	}
	return open[0]
}

// WantOpen checks which requests to a job are open, in their order.
func (e *Env) WantOpen(job store.ID, keys ...string) {
	e.Helper()
	var got []string
	for _, u := range e.OpenUpdates(job) {
		got = append(got, u.Key)
	}
	e.Equal("open requests", got, keys)
}

// Update returns a request, which must be there.
func (e *Env) Update(job store.ID, key string) store.Update {
	e.Helper()
	u, err := e.Store.GetUpdate(e.Ctx, "", job, key)
	e.NoError("GetUpdate", err)
	return u
}

// WantNoUpdate checks that a request is not there.
func (e *Env) WantNoUpdate(job store.ID, key string) {
	e.Helper()
	_, err := e.Store.GetUpdate(e.Ctx, "", job, key)
	e.WantErr("GetUpdate of "+key, err, store.ErrNotFound)
}

// Answered is the answer of a run that has done what was requested.
func Answered(seq int64, data string) store.UpdateAnswer {
	return store.UpdateAnswer{Seq: seq, Verdict: store.UpdateDone, Data: []byte(data)}
}

// RefusedAs is the answer of a run that does not accept a request.
func RefusedAs(seq int64, why string) store.UpdateAnswer {
	return store.UpdateAnswer{Seq: seq, Verdict: store.UpdateRefused, Error: why}
}

// Answer answers requests under the lease of a run, which must succeed.
func (e *Env) Answer(run store.Claimed, answers ...store.UpdateAnswer) {
	e.Helper()
	e.NoError("append", e.TryAppend(&store.Append{Lease: run.Lease, Answers: answers}))
}

// WantAnswer checks what a request was answered with.
func (e *Env) WantAnswer(job store.ID, key string, verdict store.UpdateVerdict, said string) {
	e.Helper()
	a := e.Update(job, key).Answer
	if a == nil || a.Verdict != verdict || string(a.Data)+a.Error != said {
		e.Fatalf("the answer to %q is %+v, want %d with %q", key, a, verdict, said)
	}
}
