package storetest

import (
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
)

var obstaclesTests = []test{
	{"obstacles_tell_that_the_queue_is_paused", obstaclesPaused},
	{"obstacles_tell_who_has_the_turn_of_a_key", obstaclesTurn},
	{"an_unknown_job_has_no_obstacles", obstaclesUnknown},
}

func (e *env) obstacles(id store.ID) store.Obstacles {
	e.Helper()
	o, err := e.store.Obstacles(e.ctx, id)
	if err != nil {
		e.Fatalf("Obstacles: %v", err)
	}
	return o
}

func obstaclesPaused(e *env) {
	id, later := e.add(), e.add(delay(time.Hour))
	other, elsewhere := e.add(queue("b")), e.add(func(q *store.Enqueue) { q.Job.Namespace = "other" })
	none := store.Obstacles{}
	for range 2 {
		for _, id := range []store.ID{id, later, other, elsewhere} {
			e.equal("obstacles", e.obstacles(id), none)
		}
		at := e.clock.Now()
		e.pause("mail", true)
		for _, id := range []store.ID{id, later} {
			e.equal("obstacles in a paused queue", e.obstacles(id), store.Obstacles{QueuePausedAt: at, QueuePausedBy: "ada"})
		}
		for _, id := range []store.ID{other, elsewhere} {
			e.equal("obstacles elsewhere", e.obstacles(id), none)
		}
		e.pause("mail", false)
		e.clock.Advance(time.Second)
	}
}

func obstaclesTurn(e *env) {
	first, second, third := e.add(ordered("k")), e.add(ordered("k")), e.add(ordered("k"), delay(time.Hour))
	others := []store.ID{e.add(), e.add(ordered("other")), e.add(ordered("k"), queue("b"))}
	e.promote()
	wantTurn := func(turn store.ID, ids ...store.ID) {
		e.Helper()
		for _, id := range ids {
			if o := e.obstacles(id); o.Turn != turn {
				e.Fatalf("job %v waits for the turn of %v, want %v", id, o.Turn, turn)
			}
		}
	}
	wantTurn(uuid.Nil, append(others, first)...)
	wantTurn(first, second, third)
	node := e.join()
	run := e.claimWith(store.ClaimParams{
		Node: node, Seq: 1, Namespace: namespace, Queues: []store.QueueDemand{{Name: "mail", Limit: 1}}, Kinds: []string{"send"}, Limit: 1,
	})[0]
	wantTurn(uuid.Nil, first)
	wantTurn(first, second, third)
	e.end(run, store.Retryable) // keeps the turn
	wantTurn(first, second, third)
	e.cancel(first)
	e.promote()
	wantTurn(uuid.Nil, second)
	wantTurn(second, third)
	e.cancel(second)
	e.promote()
	wantTurn(uuid.Nil, third)
}

func obstaclesUnknown(e *env) {
	_, err := e.store.Obstacles(e.ctx, e.job().Job.ID)
	e.wantErr("Obstacles of an unknown job", err, store.ErrNotFound)
	_, err = e.store.Obstacles(e.ctx, uuid.Must(uuid.NewV7()))
	e.wantErr("Obstacles of an unknown job", err, store.ErrNotFound)
}
