package operate

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var restTests = env.Tests{
	"nothing_of_a_queue_that_rests_is_claimed":       restClaims,
	"nothing_starts_with_its_enqueue_while_it_rests": restStarts,
	"one_of_many_that_ask_begins_a_rest":             restOnce,
	"rests_that_follow_each_other_get_longer":        restLevels,
	"a_rest_ends_by_resuming_the_queue":              restResumed,
	"a_rest_ends_by_deleting_the_queue":              restDeleted,
	"what_rests_is_not_unserved":                     restServed,
	"obstacles_tell_of_a_rest_until_it_ends":         restObstacles,
	"Invalid_a_rest":                                 restInvalid,
}

var noCurve store.Backoff

func restClaims(e *env.Env) {
	node := e.Join()
	due, later := e.Add(), e.Add(env.Delay(30*time.Second))
	other, elsewhere := e.Add(env.Queue("b")), e.Add(env.In("other"))
	run := e.ClaimOne(node, due)
	second := e.Add()
	rest := e.Rest("mail", time.Minute, noCurve)
	e.Equal("rest", rest, store.Resting{Until: e.Clock.Now().Add(time.Minute), Level: 1})
	e.ClaimOne(node, other)
	others := e.InOtherSpace()
	others.ClaimOne(others.Join(), elsewhere)
	e.End(run, store.Completed) // what runs goes on
	e.Clock.Advance(time.Minute - time.Microsecond)
	e.Promote()
	e.WantNothing(node)
	e.Equal("rest", e.Queue("mail").Rest, rest)
	e.Clock.Advance(time.Microsecond)
	e.ClaimOne(node, second)
	e.ClaimOne(node, later)
}

func restStarts(e *env.Env) {
	node := e.Join()
	e.Used(node, "mail")
	e.Rest("mail", time.Minute, noCurve)
	job := e.Job()
	batch := e.Starting(node, job)
	e.Apply(batch)
	if len(batch.Start.Claimed) > 0 {
		e.Fatalf("it has started: %+v", batch.Start.Claimed)
	}
	e.WantNothing(node)
	e.Clock.Advance(time.Minute)
	e.ClaimOne(node, job.Job.ID)
	e.StartAll(e.Starting(node, e.Job()))
}

func restOnce(e *env.Env) {
	e.Pause("mail", true) // which makes no difference
	curve := store.Backoff{Base: 10 * time.Second, Cap: time.Hour}
	first := e.Rest("mail", 0, curve)
	e.Equal("rest", first, store.Resting{Until: e.Clock.Now().Add(10 * time.Second), Level: 1})
	for range 10 {
		e.Equal("rest", e.Rest("mail", 3*time.Second, curve), first)
	}
	e.Clock.Advance(5 * time.Second)
	longer := store.Resting{Until: e.Clock.Now().Add(time.Minute), Level: 1}
	e.Equal("rest", e.Rest("mail", time.Minute, curve), longer)
	e.Equal("rest", e.Rest("mail", 0, curve), longer)
	if names := e.QueueNames(); len(names) != 1 || names[0] != "mail" {
		e.Fatalf("queues: %v", names)
	}
}

func restLevels(e *env.Env) {
	curve := store.Backoff{Base: 10 * time.Second, Cap: time.Minute}
	for i, want := range []int{10, 20, 40, 60, 60} {
		rest := e.Rest("mail", 0, curve)
		e.Equal(fmt.Sprint("rest ", i), rest, store.Resting{Until: e.Clock.Now().Add(time.Duration(want) * time.Second), Level: i + 1})
		e.Clock.Set(rest.Until.Add(store.RestForgotten - time.Microsecond))
	}
	e.Clock.Advance(time.Microsecond)
	e.Equal("rest", e.Rest("mail", 0, curve), store.Resting{Until: e.Clock.Now().Add(10 * time.Second), Level: 1})
}

func restResumed(e *env.Env) {
	node, id := e.Join(), e.Add()
	e.Pause("mail", true)
	e.Rest("mail", time.Hour, noCurve)
	e.Pause("mail", false)
	e.ClaimOne(node, id)
	e.Equal("rest", e.Queue("mail").Rest, store.Resting{})
	e.Rest("mail", time.Hour, noCurve)
	e.Clock.Advance(time.Hour)
	e.Pause("mail", true)
	e.Add()
	e.WantNothing(node)
}

func restDeleted(e *env.Env) {
	e.Rest("mail", time.Hour, noCurve)
	deleted(e, "mail")
	e.Equal("queues", e.QueueNames(), nil)
	e.Rest("mail", time.Minute, noCurve)
	e.Equal("queues", e.QueueNames(), []string{"mail"})
	deleted(e, "mail")
	id := e.Add()
	e.End(e.ClaimOne(e.Join(), id), store.Completed)
}

func restServed(e *env.Env) {
	e.Add(env.Kind("nobody"))
	wantUnserved(e, "mail nobody")
	e.Rest("mail", time.Minute, noCurve)
	wantUnserved(e)
	e.Clock.Advance(time.Minute)
	wantUnserved(e, "mail nobody")
}

func restObstacles(e *env.Env) {
	id := e.Add()
	rest := e.Rest("mail", time.Minute, noCurve)
	e.Equal("obstacles", obstacles(e, id), store.Obstacles{QueueRest: rest})
	e.Clock.Advance(time.Minute)
	e.Equal("obstacles", obstacles(e, id), store.Obstacles{Turn: uuid.Nil})
}

func restInvalid(e *env.Env) {
	for what, p := range map[string]store.RestParams{
		"no queue":  {Namespace: env.Namespace},
		"backwards": {Namespace: env.Namespace, Queue: "mail", For: -1},
		"too long":  {Namespace: env.Namespace, Queue: "mail", For: store.MaxRest + 1},
	} {
		_, err := e.Store.Rest(e.Ctx, p)
		e.WantErr(what, err, store.ErrInvalid)
	}
	e.Equal("queues", e.QueueNames(), nil)
}
