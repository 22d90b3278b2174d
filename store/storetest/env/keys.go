package env

import "github.com/holdfastdev/holdfast/store"

// KeyOf is a business key of jobs of the usual kind.
func (e *Env) KeyOf(text string) store.JobKey {
	return store.JobKey{Namespace: e.space, Kind: "send", Key: text}
}

// Find returns the job that has a business key, or had it last.
func (e *Env) Find(text string) store.ID {
	e.Helper()
	id, err := e.Store.Find(e.Ctx, e.KeyOf(text))
	e.NoError("Find", err)
	return id
}

// WantNoKey checks that no job has a business key.
func (e *Env) WantNoKey(text string) {
	e.Helper()
	_, err := e.Store.Find(e.Ctx, e.KeyOf(text))
	e.WantErr("Find", err, store.ErrNotFound)
}

// WantKey checks that a job holds a business key: an enqueue that wants it is told of that job, and
// is not inserted.
func (e *Env) WantKey(text string, holder store.ID) {
	e.Helper()
	q := e.Try(Key(text))
	if q.Err != nil || q.Result.ID != holder || !q.Result.Existing || q.Result.Replaced || q.Result.State != 0 {
		e.Fatalf("enqueue with the key of %v returned %+v, %v", holder, q.Result, q.Err)
	}
	e.WantUnknown(q.Job.ID)
	if found := e.Find(text); found != holder {
		e.Fatalf("the key is that of %v, want %v", found, holder)
	}
}

// TakeKey makes a job that has a business key, which no other job holds.
func (e *Env) TakeKey(text string, change ...func(*store.Enqueue)) store.ID {
	e.Helper()
	q := e.Try(append([]func(*store.Enqueue){Key(text)}, change...)...)
	if q.Err != nil || q.Result.Existing || q.Result.ID != q.Job.ID {
		e.Fatalf("the key is not free: %+v, %v", q.Result, q.Err)
	}
	if found := e.Find(text); found != q.Job.ID {
		e.Fatalf("the key is that of %v, want %v", found, q.Job.ID)
	}
	return q.Job.ID
}

// SendOrStart sends a signal to the job that has a business key, or to a new one, which must
// succeed.
func (e *Env) SendOrStart(text, signal string, change ...func(*store.Enqueue)) *store.Enqueue {
	e.Helper()
	q := e.Try(append([]func(*store.Enqueue){Key(text), Along(signal)}, change...)...)
	if q.Err != nil || q.Send.Job != q.Result.ID {
		e.Fatalf("send or start: %+v, %v to %v", q.Result, q.Err, q.Send.Job)
	}
	return q
}

// Repeat sends an enqueue with a signal again, as if its answer was lost.
func (e *Env) Repeat(q *store.Enqueue) *store.Enqueue {
	e.Helper()
	again := *q
	along := *q.Send
	along.Job, along.Result = store.ID{}, store.SendResult{}
	again.Send, again.Result = &along, store.EnqueueResult{}
	e.Apply(&store.Batch{Enqueues: []*store.Enqueue{&again}})
	if again.Err != nil {
		e.Fatalf("a repeated enqueue: %v", again.Err)
	}
	return &again
}

// WantRepeated checks that a repeated enqueue answers as the first one, and sends nothing.
func (e *Env) WantRepeated(q *store.Enqueue, messages ...string) {
	e.Helper()
	again := e.Repeat(q)
	if again.Result.ID != q.Result.ID || !again.Result.Existing || again.Result.Differs != q.Result.Differs || again.Send.Job != q.Result.ID ||
		again.Send.Result != (store.SendResult{Seq: q.Send.Result.Seq, Duplicate: true}) {
		e.Fatalf("repeated: %+v, %+v; before: %+v, %+v", again.Result, again.Send.Result, q.Result, q.Send.Result)
	}
	e.Equal("messages", e.Names(q.Result.ID), messages)
}

// Names returns the names of all messages that a job has.
func (e *Env) Names(id store.ID) []string {
	e.Helper()
	var names []string
	for _, m := range e.Messages(id) {
		names = append(names, m.Name)
	}
	return names
}
