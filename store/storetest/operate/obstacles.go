package operate

import (
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var obstaclesTests = env.Tests{
	"obstacles_tell_that_the_queue_is_paused":  obstaclesPaused,
	"obstacles_tell_who_has_the_turn_of_a_key": obstaclesTurn,
}

func obstacles(e *env.Env, id store.ID) store.Obstacles {
	e.Helper()
	o, err := e.Store.Obstacles(e.Ctx, "", id)
	e.NoError("Obstacles", err)
	return o
}

func obstaclesPaused(e *env.Env) {
	id, later := e.Add(), e.Add(env.Delay(time.Hour))
	other, elsewhere := e.Add(env.Queue("b")), e.Add(env.In("other"))
	none := store.Obstacles{}
	for range 2 {
		for _, id := range []store.ID{id, later, other, elsewhere} {
			e.Equal("obstacles", obstacles(e, id), none)
		}
		at := e.Clock.Now()
		e.Pause("mail", true)
		for _, id := range []store.ID{id, later} {
			e.Equal("obstacles in a paused queue", obstacles(e, id), store.Obstacles{QueuePausedAt: at, QueuePausedBy: "ada"})
		}
		for _, id := range []store.ID{other, elsewhere} {
			e.Equal("obstacles elsewhere", obstacles(e, id), none)
		}
		e.Pause("mail", false)
		e.Clock.Advance(time.Second)
	}
}

func obstaclesTurn(e *env.Env) {
	first, second, third := e.Add(env.Ordered("k")), e.Add(env.Ordered("k")), e.Add(env.Ordered("k"), env.Delay(time.Hour))
	others := []store.ID{e.Add(), e.Add(env.Ordered("other")), e.Add(env.Ordered("k"), env.Queue("b"))}
	e.Promote()
	wantTurn := func(turn store.ID, ids ...store.ID) {
		e.Helper()
		for _, id := range ids {
			if o := obstacles(e, id); o.Turn != turn || o.HasTurn && turn != uuid.Nil {
				e.Fatalf("job %v waits for the turn of %v, want %v; it has it: %v", id, o.Turn, turn, o.HasTurn)
			}
		}
	}
	wantTurn(uuid.Nil, append(others, first)...)
	wantTurn(first, second, third)
	node := e.Join()
	run := e.ClaimWith(store.ClaimParams{
		Node: node, Seq: 1, Namespace: env.Namespace, Queues: []store.QueueDemand{{Name: "mail", Limit: 1}}, Kinds: []string{"send"}, Limit: 1,
	})[0]
	wantTurn(uuid.Nil, first)
	wantTurn(first, second, third)
	e.End(run, store.Retryable) // keeps the turn
	wantTurn(first, second, third)
	e.Cancel(first)
	e.Promote()
	wantTurn(uuid.Nil, second)
	wantTurn(second, third)
	e.Cancel(second)
	e.Promote()
	wantTurn(uuid.Nil, third)
}
