package requests

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// request is one that is named by a key, and asks for something.
func request(key, asks string, enqueues ...*store.Enqueue) *store.KeyedRequest {
	hash, asked := sha256.Sum256([]byte(key)), sha256.Sum256([]byte(asks))
	return &store.KeyedRequest{Hash: hash[:], Print: asked[:], Enqueues: enqueues}
}

// owner is who sees to a request that has begun.
func owner(n byte) []byte { return bytes.Repeat([]byte{n}, 16) }

// try applies a unit, and returns why it was refused.
func try(e *env.Env, u *store.Unit) error {
	e.Helper()
	err := e.Store.Apply(e.Ctx, env.Batched(u))
	if _, refused := errors.AsType[*store.RefusedError](err); err != nil && !refused {
		e.Fatalf("Apply: %v", err)
	}
	if (err == nil) != (u.Err() == nil) {
		e.Fatalf("Apply: %v, and the unit: %v", err, u.Err())
	}
	return u.Err()
}

// known asks for something again, and returns what is known of it.
func known(e *env.Env, asks string) *store.RequestError {
	e.Helper()
	u := &store.Unit{Request: request("k", asks)}
	err := try(e, u)
	e.WantErr("a request that is known", err, store.ErrConflict)
	found, is := errors.AsType[*store.RequestError](err)
	if !is {
		e.Fatalf("%T: %v", err, err)
	}
	return found
}

func results(e *env.Env, found *store.RequestError) store.RequestResults {
	e.Helper()
	r, err := found.Results()
	e.NoError("Results", err)
	return r
}

func unit(key string, q *store.Enqueue) *store.Unit {
	return &store.Unit{Request: request(key, "a job", q), Enqueues: []*store.Enqueue{q}}
}

func whole(e *env.Env) {
	taken := e.InOtherSpace().Add()
	q := e.Job(func(q *store.Enqueue) { q.Job.ID, q.KnownID = taken, true })
	beside := e.Job()
	u := unit("k", q)
	u.Enqueues = append(u.Enqueues, beside)
	e.WantErr("an id of another namespace", try(e, u), store.ErrConflict)
	e.WantNothing(e.Join())

	good := e.Job()
	e.NoError("the same key, as nothing came of it", try(e, unit("k", good)))
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(e.Join(), 10)), good.Job.ID)
}

func repeated(e *env.Env) {
	first, second := e.Job(), e.Job()
	u := unit("k", first)
	u.Request.Answer = []byte("beside")
	e.NoError("first", try(e, u))
	at := e.Clock.Now()
	e.Clock.Advance(time.Hour)
	err := try(e, unit("k", second))
	found, is := store.IsRepeated(err)
	if !is {
		e.Fatalf("not repeated: %v", err)
	}
	e.Equal("when", found.At.UTC(), at.UTC().Truncate(time.Microsecond))
	r := results(e, found)
	e.Equal("its job", r.Enqueues, []store.EnqueueResult{{ID: first.Job.ID, State: store.Available}})
	e.Equal("beside it", string(r.Answer), "beside")
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(e.Join(), 10)), first.Job.ID)
}

func other(e *env.Env) {
	e.NoError("first", try(e, unit("k", e.Job())))
	found := known(e, "another job")
	e.Equal("the same", found.Same, false)
	if _, is := store.IsRepeated(found); is {
		e.Errorf("it counts as repeated: %v", found)
	}
}

func twins(e *env.Env) {
	first, second, plain := e.Job(), e.Job(), e.Job()
	a, b := unit("k", first), unit("k", second)
	batch := env.Batched(a)
	batch.Add(b)
	batch.Enqueues = append(batch.Enqueues, plain)
	err := e.Store.Apply(e.Ctx, batch)
	if _, refused := errors.AsType[*store.RefusedError](err); !refused || a.Err() != nil || !store.Inconclusive(b.Err()) {
		e.Fatalf("%v; first: %v, second: %v", err, a.Err(), b.Err())
	}
	e.WantNothing(e.Join())
	e.NoError("alone", try(e, a))
	if _, is := store.IsRepeated(try(e, b)); !is {
		e.Errorf("the second: %v", b.Err())
	}
}

func met(e *env.Env) {
	held := e.Add(env.Unique("u"))
	first := e.Job(env.Unique("u"))
	e.NoError("of a key that is taken", try(e, unit("k", first)))
	e.Equal("result", first.Result.Existing, true)
	again := e.Job(env.Unique("u"))
	found, is := store.IsRepeated(try(e, unit("k", again)))
	if !is {
		e.Fatal("it is not repeated")
	}
	r := results(e, found).Enqueues[0]
	e.Equal("holder", r.ID, held)
	e.Equal("existing", r.Existing, true)
}

func sent(e *env.Env) {
	id := e.Add()
	ask := func() *store.Unit {
		q := &store.Send{Namespace: env.Namespace, Job: id, Message: env.Signal("go"), Key: "s" + e.IDs.Next().String()}
		u := &store.Unit{Request: request("k", "a signal"), Sends: []*store.Send{q}}
		u.Request.Sends = u.Sends
		return u
	}
	u := ask()
	e.NoError("first", try(e, u))
	found, is := store.IsRepeated(try(e, ask()))
	if !is {
		e.Fatal("it is not repeated")
	}
	e.Equal("results", results(e, found).Sends, []store.SendResult{u.Sends[0].Result})
	messages, err := e.Store.Messages(e.Ctx, store.InboxParams{Namespace: env.Namespace, Job: id, Limit: 10})
	e.NoError("Messages", err)
	e.Equal("messages", len(messages), 1)
}

func many(e *env.Env) {
	u := &store.Unit{Request: request("k", "many")}
	for range 1000 {
		u.Enqueues = append(u.Enqueues, e.Job())
	}
	u.Request.Enqueues = u.Enqueues
	u.Request.Answer = bytes.Repeat([]byte{7}, store.MaxRequestAnswer)
	e.NoError("first", try(e, u))
	r := results(e, known(e, "many"))
	for i, q := range u.Enqueues {
		if r.Enqueues[i].ID != q.Job.ID {
			e.Fatalf("job %d is %s, not %s", i, r.Enqueues[i].ID, q.Job.ID)
		}
	}
	e.Equal("the answer beside them", len(r.Answer), store.MaxRequestAnswer)
}

func forgotten(e *env.Env) {
	e.NoError("first", try(e, unit("k", e.Job())))
	e.Clock.Advance(store.RequestsKept - time.Second)
	e.Retain(env.Briefly)
	e.Equal("the same", known(e, "a job").Same, true)
	e.Clock.Advance(time.Second)
	e.Retain(env.Briefly)
	e.NoError("after a day", try(e, unit("k", e.Job())))
	e.Clock.Advance(store.RequestsKept)
	e.NoError("after another one, before anything is removed", try(e, unit("k", e.Job())))
	e.Equal("the same", known(e, "a job").Same, true)
}

func invalid(e *env.Env) {
	for what, change := range map[string]func(*store.KeyedRequest){
		"a short hash":      func(r *store.KeyedRequest) { r.Hash = r.Hash[1:] },
		"no print":          func(r *store.KeyedRequest) { r.Print = nil },
		"a long answer":     func(r *store.KeyedRequest) { r.Answer = make([]byte, store.MaxRequestAnswer+1) },
		"an owner":          func(r *store.KeyedRequest) { r.Owner = owner(1) },
		"an unknown phase":  func(r *store.KeyedRequest) { r.Phase, r.Owner = 9, owner(1) },
		"begun for nothing": func(r *store.KeyedRequest) { r.Phase, r.Owner = store.RequestBegins, owner(1) },
		"ended by none":     func(r *store.KeyedRequest) { r.Phase = store.RequestEnds },
	} {
		r := request("k", "a job")
		change(r)
		e.WantErr(what, try(e, &store.Unit{Request: r, Enqueues: []*store.Enqueue{e.Job()}}), store.ErrInvalid)
	}
	e.WantNothing(e.Join())
}
