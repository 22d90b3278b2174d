package requests

import (
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// phase writes a phase of a request, and returns why that was refused.
func phase(e *env.Env, n byte, p store.RequestPhase, change ...func(*store.KeyedRequest)) error {
	e.Helper()
	r := request("k", "a pause")
	r.Phase, r.Owner = p, owner(n)
	if p == store.RequestBegins {
		r.For = time.Minute
	}
	for _, c := range change {
		c(r)
	}
	return try(e, &store.Unit{Request: r})
}

func again(r *store.KeyedRequest) { r.Again = true }

func answer(text string) func(*store.KeyedRequest) {
	return func(r *store.KeyedRequest) { r.Answer = []byte(text) }
}

func begun(e *env.Env) {
	e.NoError("begins", phase(e, 1, store.RequestBegins))
	found := known(e, "a pause")
	e.Equal("begun, over", []bool{found.Begun, found.Over}, []bool{true, false})
	e.WantErr("another one begins", phase(e, 2, store.RequestBegins, again), store.ErrConflict)
	e.WantErr("another one ends it", phase(e, 2, store.RequestEnds), store.ErrConflict)
	e.Equal("another use of the key", known(e, "a resume").Same, false)
	e.NoError("ends", phase(e, 1, store.RequestEnds, answer("paused")))
	e.NoError("ends, repeated", phase(e, 1, store.RequestEnds, answer("paused")))
	found = known(e, "a pause")
	e.Equal("begun", found.Begun, false)
	e.Equal("answer", string(results(e, found).Answer), "paused")
	e.NoError("dropped too late", phase(e, 1, store.RequestDropped))
	e.Equal("answer after that", string(results(e, known(e, "a pause")).Answer), "paused")
}

func dropped(e *env.Env) {
	e.NoError("begins", phase(e, 1, store.RequestBegins))
	e.NoError("dropped by another one", phase(e, 2, store.RequestDropped))
	e.Equal("begun", known(e, "a pause").Begun, true)
	e.NoError("dropped", phase(e, 1, store.RequestDropped))
	e.NoError("dropped, repeated", phase(e, 1, store.RequestDropped))
	e.WantErr("ends", phase(e, 1, store.RequestEnds), store.ErrConflict)
	e.NoError("begins anew", phase(e, 2, store.RequestBegins))
}

func takenOver(e *env.Env) {
	e.NoError("begins", phase(e, 1, store.RequestBegins))
	e.Clock.Advance(time.Minute)
	found := known(e, "a pause")
	e.Equal("begun, over", []bool{found.Begun, found.Over}, []bool{true, true})
	e.NoError("begins in its place, as nothing has happened", phase(e, 2, store.RequestBegins))
	e.Equal("over", known(e, "a pause").Over, false)
	e.WantErr("the first one ends", phase(e, 1, store.RequestEnds, answer("late")), store.ErrConflict)
	e.NoError("the first one is dropped", phase(e, 1, store.RequestDropped))
	e.NoError("ends", phase(e, 2, store.RequestEnds, answer("paused")))
	e.Equal("answer", string(results(e, known(e, "a pause")).Answer), "paused")
}

// happenedBefore: what something has happened of is taken over only by one that may do it again.
func happenedBefore(e *env.Env) {
	e.NoError("begins", phase(e, 1, store.RequestBegins))
	e.WantErr("happens by another one", phase(e, 2, store.RequestHappens), store.ErrConflict)
	e.NoError("happens", phase(e, 1, store.RequestHappens))
	e.NoError("happens, repeated", phase(e, 1, store.RequestHappens))
	e.Clock.Advance(time.Minute)
	e.WantErr("begins in its place", phase(e, 2, store.RequestBegins), store.ErrConflict)
	found := known(e, "a pause")
	e.Equal("begun, over, happened", []bool{found.Begun, found.Over, found.Happened}, []bool{true, true, true})
	e.NoError("begins again", phase(e, 2, store.RequestBegins, again))
	e.Equal("happened", known(e, "a pause").Happened, false)
	e.WantErr("the first one happens", phase(e, 1, store.RequestHappens), store.ErrConflict)
	e.NoError("happens", phase(e, 2, store.RequestHappens))
	e.NoError("dropped, to be done again", phase(e, 2, store.RequestDropped, again))
	e.WantErr("happens, after that", phase(e, 2, store.RequestHappens), store.ErrConflict)
}

func beginsAgain(e *env.Env) {
	e.NoError("begins", phase(e, 1, store.RequestBegins))
	e.NoError("begins, repeated", phase(e, 1, store.RequestBegins))
	found, is := errors.AsType[*store.RequestError](phase(e, 2, store.RequestBegins))
	if !is || !found.Begun || !found.Same {
		e.Errorf("another one begins: %v", found)
	}
}
