package env

import (
	"encoding/json"
	"slices"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
)

// TryAppend commits an append alone and returns its own error.
func (e *Env) TryAppend(a *store.Append) error {
	e.Helper()
	e.Apply(&store.Batch{Appends: []*store.Append{a}})
	return a.Err
}

// Write appends entries to a run's journal, which must succeed. From then on the run knows that its
// job is durable.
func (e *Env) Write(run *store.Claimed, entries ...store.Entry) {
	e.Helper()
	e.NoError("append", e.TryAppend(&store.Append{Lease: run.Lease, Entries: entries}))
	run.Durable = true
}

// Durable makes a job with n entries in its journal, and the run that wrote them.
func (e *Env) Durable(n int64, change ...func(*store.Enqueue)) store.Claimed {
	e.Helper()
	run := e.Started(change...)
	e.Write(&run, Steps(1, n)...)
	return run
}

// TrySend sends one message, and returns what the store made of it.
func (e *Env) TrySend(job store.ID, message store.Message, key string) *store.Send {
	e.Helper()
	q := &store.Send{Job: job, Message: message, Key: key}
	e.Apply(&store.Batch{Sends: []*store.Send{q}})
	return q
}

// Send sends a message, which must succeed.
func (e *Env) Send(job store.ID, message store.Message) store.SendResult {
	e.Helper()
	q := e.TrySend(job, message, "")
	if q.Err != nil {
		e.Fatalf("send to %v: %v", job, q.Err)
	}
	return q.Result
}

// Park ends a run as waiting, which must be accepted.
func (e *Env) Park(run store.Claimed, wait *store.Wait, change ...func(*store.Outcome)) *store.Outcome {
	e.Helper()
	change = append([]func(*store.Outcome){func(o *store.Outcome) { o.Wait, o.Durable = wait, true }}, change...)
	return e.End(run, store.Waiting, change...)
}

// ParkAs ends a run as waiting, which must lead to the given state.
func (e *Env) ParkAs(final store.State, run store.Claimed, wait *store.Wait, change ...func(*store.Outcome)) {
	e.Helper()
	if o := e.Park(run, wait, change...); o.Final != final {
		e.Fatalf("job %v, which parked, became %v, want %v", run.Job.ID, o.Final, final)
	}
}

// Parked makes a job with one entry in its journal that waits like this, and returns the run that
// parked it.
func (e *Env) Parked(wait *store.Wait, change ...func(*store.Enqueue)) store.Claimed {
	e.Helper()
	run := e.Durable(1, change...)
	e.ParkAs(store.Waiting, run, wait)
	return run
}

// Held makes a job that nothing wakes but a person.
func (e *Env) Held(change ...func(*store.Enqueue)) store.Claimed {
	e.Helper()
	return e.Parked(&store.Wait{Held: true}, change...)
}

// WantHeld checks that a job waits for a person, since it was paused now.
func (e *Env) WantHeld(id store.ID) store.Record {
	e.Helper()
	record := e.Get(id)
	if record.State != store.Waiting || record.PauseRequested || !record.FinishedAt.IsZero() {
		e.Fatalf("the paused job: %+v", record)
	}
	e.WantNotDue(record)
	e.Equal("wait", record.Wait,
		&store.WaitInfo{Since: e.Clock.Now(), Held: true, Reason: store.ReasonPaused, Error: "look first"},
		cmpopts.IgnoreFields(store.WaitInfo{}, "For"))
	return record
}

// WantNotDue checks that a job which no time wakes has no run time, however it is read.
func (e *Env) WantNotDue(record store.Record) {
	e.Helper()
	listed := e.List(store.Filter{States: []store.State{store.Waiting}}, 100)
	at := slices.IndexFunc(listed, func(r store.Record) bool { return r.ID == record.ID })
	if at < 0 || !listed[at].RunAt.IsZero() || !record.RunAt.IsZero() {
		e.Fatalf("a job that waits for a person is due at %v, or in the list, where it is at %d", record.RunAt, at)
	}
}

// Bear lets a run enqueue n children, after its last entry.
func (e *Env) Bear(run *store.Claimed, n int, change ...func(*store.Enqueue)) []store.ID {
	e.Helper()
	journal := e.Journal(run.Job.ID)
	last := journal.LastSeq()
	a := &store.Append{Lease: run.Lease}
	for i := range int64(n) {
		q := e.Child(run.Job.ID, change...)
		data, err := json.Marshal(q.Job.ID)
		if err != nil {
			e.Fatal(err)
		}
		a.Entries = append(a.Entries, store.Entry{Seq: last + 1 + i, Kind: store.EntryChild, Name: q.Job.Kind, Data: data})
		a.Enqueues = append(a.Enqueues, q)
	}
	e.NoError("append of children", e.TryAppend(a))
	run.Durable = true
	return IDsOf(a.Enqueues)
}
